"""Each covariate lies where all the others suggest, or far from it."""

import numpy as np
import pytest

from survtrace.tables.covariates.covariate import Covariate
from survtrace.tables.covariates.encoding import Categories, Encoded, Encoding, Scale
from survtrace.tables.typicality.normal_scores import Scores
from survtrace.tables.typicality.residuals import (
    _choose_dimensions,
    _shrunk_inverse,
    learn_residuals,
)

NUMBER = Scale(0.0, 1.0, -2.0, 0.0, 2.0)


def chosen(columns, rows):
    """The dimensions of some subjects, whose rows are counted from the covariate's first."""
    kinds = ["numerical" if isinstance(each, Scale) else "categorical" for each in columns]
    covariates = tuple(Covariate(f"x{j}", kind) for j, kind in enumerate(kinds))
    encoding = Encoding(covariates, tuple(columns))
    rows = np.asarray(rows, dtype=np.int32) + encoding.first_rows[:-1].astype(np.int32)
    return _choose_dimensions(encoding, Encoded(rows, np.ones(rows.shape, dtype=np.float32)))


def test_levels_that_a_fiftieth_has_are_dimensions_but_for_the_most_frequent():
    """A number has rows 0 and 1; of the levels, behind missing and unseen, 2 and 1 are rare."""
    levels = np.repeat([2, 3, 4, 5], [69, 28, 2, 1])
    rows = np.stack([np.ones(100), levels], axis=1)
    row, column, centre = chosen([NUMBER, Categories(tuple("abcd"))], rows)
    assert (row.tolist(), column.tolist()) == ([1, 5, 6], [0, 1, 1])
    np.testing.assert_allclose(centre, [0.0, 0.28, 0.02])


def test_a_share_is_that_of_those_whose_level_is_known():
    levels = np.repeat([0, 1, 2, 3], [40, 40, 15, 5])
    row, _, centre = chosen([Categories(("a", "b"))], levels[:, None])
    assert (row.tolist(), centre.tolist()) == ([3], [0.25])


@pytest.mark.parametrize("levels", [[0] * 9, [0] * 8 + [2], [2] * 5 + [3] * 5], ids=str)
def test_levels_of_which_none_is_rarer_than_another_are_no_dimensions(levels):
    assert all(len(each) == 0 for each in chosen([Categories(("a", "b"))], np.c_[levels]))


def test_there_are_512_dimensions_at_most():
    row, column, centre = chosen([NUMBER] * 514, np.ones((2, 514)))
    assert (len(row), len(column), len(centre)) == (512, 512, 512)
    np.testing.assert_array_equal(column, np.arange(512))


@pytest.mark.parametrize(
    ("correlation", "n_known", "kept"),
    [
        (0.01, 10, 0.0),  # what chance alone makes
        (0.5, 10, 1 - 0.75**2 / 10 / 0.25),
        (0.8, 1, 1 - 0.36**2 / 2 / 0.64),  # as if of two subjects
        (0.5, 10**6, 0.999),  # at the most
        (0.0, 10, 0.0),
    ],
)
def test_a_correlation_is_shrunk_by_its_variance_over_its_square(correlation, n_known, kept):
    """Of two covariates the variance of r is about (1 - r^2)^2 / n."""
    given = np.array([[1.0, correlation], [correlation, 1.0]])
    found = _shrunk_inverse(given, np.full((2, 2), float(n_known)))
    shrunk = np.array([[1.0, kept * correlation], [kept * correlation, 1.0]])
    np.testing.assert_allclose(found @ shrunk, np.eye(2), atol=1e-9)


def test_copies_have_an_inverse_all_the_same():
    found = _shrunk_inverse(np.ones((2, 2)), np.full((2, 2), 1e9))
    assert np.linalg.eigvalsh(found) == pytest.approx([1 / 1.999, 1000])


@pytest.mark.parametrize(("share", "scale"), [(0.05, 0.3), (0.3, np.sqrt(0.3 * 0.7))])
def test_an_indicator_alone_is_its_own_residual_on_a_scale_that_is_never_small(share, scale):
    n = round(100 * share)
    levels = np.repeat([[2], [3]], [100 - n, n], axis=0).astype(np.int32)
    encoding = Encoding((Covariate("x", "categorical"),), (Categories(("a", "b")),))
    encoded, nothing = Encoded(levels, np.ones((100, 1), np.float32)), np.full((100, 1), np.nan)
    scores = Scores(nothing, nothing, levels.astype(np.int64))
    learned = learn_residuals(encoding, encoded, scores)
    assert learned.scale == pytest.approx([scale])
    assert learned.precision == pytest.approx(np.ones((1, 1)))
    found = learned.read(encoding, encoded, scores)[:, 0]
    np.testing.assert_allclose(found, ((levels[:, 0] == 3) - share) / scale)


def test_numbers_go_together_as_in_those_who_have_both():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(50, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    normal[:10, 0], normal[40:, 1] = np.nan, np.nan
    encoding = Encoding((Covariate("x", "numerical"), Covariate("y", "numerical")), (NUMBER,) * 2)
    encoded = Encoded(np.ones((50, 2), np.int32), np.ones((50, 2), np.float32))
    scores = Scores(normal, np.abs(normal), np.zeros((50, 2), np.int64))
    learned = learn_residuals(encoding, encoded, scores)
    scale = np.sqrt(np.nanmean(normal**2, axis=0))
    np.testing.assert_allclose(learned.scale, scale)
    both = normal[10:40] / scale
    correlation = np.mean(both[:, 0] * both[:, 1])
    variance = (1 - correlation**2) ** 2 / 30
    kept = correlation - variance / correlation
    np.testing.assert_allclose(np.linalg.inv(learned.precision), [[1, kept], [kept, 1]])
    found = learned.read(encoding, encoded, scores)
    expected = (both[:, 0] - kept * both[:, 1]) / np.sqrt(1 - kept**2)
    np.testing.assert_allclose(found[10:40, 0], expected)
    assert (found[:10, 0] == 0).all()
    assert (found[40:, 1] == 0).all()
    # What is missing is put where the other suggests: it adds nothing to how far that one lies.
    alone = normal[:10, 1] / scale[1] * np.sqrt(1 - kept**2)
    np.testing.assert_allclose(found[:10, 1], alone)
