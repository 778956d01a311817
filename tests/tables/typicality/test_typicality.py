"""One number says how usual a whole patient is, as often right as it promises."""

import numpy as np
import pandas as pd
import pytest

from survtrace.errors import DataWarning
from survtrace.tables.covariates.covariates import infer_covariates, open_table
from survtrace.tables.covariates.encoding import Encoded, Encoding, learn_encoding
from survtrace.tables.typicality.one_subject import OneSubject
from survtrace.tables.typicality.pair_tables import PairTables
from survtrace.tables.typicality.residuals import Residuals
from survtrace.tables.typicality.typicality import UNLIKE, Typicality, _first_largest

pytestmark = pytest.mark.filterwarnings("ignore:some columns carry no information")


def draw(n, seed):
    """Children and adults, whose weight goes with age; women of whom some are pregnant."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.3, rng.uniform(1, 15, n), rng.normal(55, 14, n).clip(18))
    grown = np.minimum(age / 18, 1)
    sex = rng.choice(["f", "m"], n)
    weight = (3.5 + 70 * grown**1.3) * rng.lognormal(0, 0.15, n)
    pregnant = (sex == "f") & (age > 18) & (age < 45) & (rng.random(n) < 0.3)
    ward = np.where(age < 18, "children", rng.choice(["surgery", "medicine"], n))
    frame = {"age": age, "weight": weight, "sex": sex, "marker": rng.lognormal(0, 1, n)}
    frame["pregnant"] = np.where(pregnant, "yes", "no")
    frame["ward"] = ward
    frame["marker"] = np.where(rng.random(n) < 0.2, np.nan, frame["marker"])
    return pd.DataFrame(frame)


def learn(frame):
    table = open_table(frame)
    encoding = learn_encoding(table, infer_covariates(table))
    number = np.random.default_rng(0).permutation(len(frame))
    return Typicality.learn(encoding, encoding.encode(table), number)


def of(usual, frame):
    return usual.of(usual.encoding.encode(open_table(frame)))


def why(usual, frame):
    return usual.reasons(usual.encoding.encode(open_table(frame)))


@pytest.fixture(scope="module")
def usual():
    return learn(draw(4_000, seed=1))


@pytest.fixture(scope="module")
def patient():
    """A woman of whom nothing is unusual."""
    row = {"age": 50.0, "weight": 72.0, "sex": "f", "marker": 1.0, "pregnant": "no"}
    return pd.DataFrame([{**row, "ward": "surgery"}])


def test_held_out_patients_are_unlike_as_often_as_promised(usual):
    shares = of(usual, draw(20_000, seed=2))
    for promised in (0.01, 0.1, 0.5):
        assert np.mean(shares < promised) == pytest.approx(promised, rel=0.35)


@pytest.mark.filterwarnings("ignore:categories not seen in fit")
def test_held_out_patients_of_small_tables_are_unlike_as_often_as_promised():
    found = [np.mean(of(learn(draw(50, k)), draw(500, 1_000 + k)) < UNLIKE) for k in range(20)]
    assert 0.002 < np.mean(found) < 0.03


def test_rows_with_shuffled_columns_are_found(usual):
    rng, new = np.random.default_rng(3), draw(2_000, seed=3)
    shuffled = new.apply(lambda column: rng.permutation(column.to_numpy()))
    assert np.mean(of(usual, shuffled) < UNLIKE) > 0.4


@pytest.mark.parametrize(
    ("change", "covariates"),
    [
        ({"sex": "m", "pregnant": "yes", "age": 30.0}, {"sex", "pregnant"}),
        ({"age": 4.0, "weight": 110.0, "ward": "children"}, {"age", "weight"}),
        ({"ward": "children"}, {"age", "ward"}),
        ({"weight": 400.0}, {"weight"}),
        ({"age": -40.0}, {"age"}),
        ({"marker": 1e6}, {"marker"}),
    ],
)
def test_impossible_combinations_and_values_are_found_and_named(usual, patient, change, covariates):
    odd = patient.assign(**change)
    assert of(usual, odd)[0] < UNLIKE
    assert set(why(usual, odd)[0]) & covariates
    assert of(usual, patient)[0] > 0.2


def test_a_value_further_out_is_never_more_usual(usual, patient):
    many = pd.concat([patient] * 50, ignore_index=True).assign(weight=np.linspace(70, 600, 50))
    shares = of(usual, many)
    assert shares[-1] < 1e-4
    assert (np.diff(shares[shares < UNLIKE]) <= 0).all()


def test_what_is_missing_is_not_unusual(usual, patient):
    nothing = pd.DataFrame([dict.fromkeys(patient.columns)])
    assert of(usual, nothing)[0] > 0.2
    for name in patient:  # the marker was missing in the table; nothing else was
        assert of(usual, patient.assign(**{name: None}))[0] > 0.05


def test_a_level_that_nobody_had_is_unusual(usual, patient):
    with pytest.warns(DataWarning, match="not seen in fit"):
        shares = of(usual, patient.assign(ward="elsewhere"))
    assert shares[0] < UNLIKE


def test_a_subject_alone_is_as_usual_as_in_a_table_and_in_threads(usual):
    new = draw(300, seed=4)
    whole = of(usual, new)
    alone = np.concatenate([of(usual, new[k : k + 1]) for k in range(0, 300, 30)])
    np.testing.assert_allclose(alone, whole[::30], rtol=1e-9)
    encoded = usual.encoding.encode(open_table(new))
    large = Encoded(np.tile(encoded.rows, (60, 1)), np.tile(encoded.values, (60, 1)))
    backwards = usual.of(large, lambda task, n: [task(k) for k in range(n)[::-1]] and None)
    np.testing.assert_allclose(backwards, np.tile(whole, 60), rtol=1e-9)


def test_what_is_saved_gives_the_same_shares_and_holds_no_subject(usual):
    new, arrays = draw(500, seed=5), usual.arrays()
    again = Typicality.from_arrays(usual.encoding, arrays)
    np.testing.assert_array_equal(of(again, new), of(usual, new))
    assert max(max(array.shape, default=0) for array in arrays.values()) < 100  # of 4,000


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": np.random.default_rng(0).normal(size=60)}),
        pd.DataFrame({"x": ["a", "b"] * 30}),
        pd.DataFrame({"x": np.arange(60.0), "one": 1.0, "none": np.nan, "level": "a"}),
        pd.DataFrame({"x": [None, *["a"] * 59], "y": [np.nan] * 59 + [1.0]}),
        pd.DataFrame({"x": [0.0] * 59 + [1.0], "copy": [0.0] * 59 + [1.0]}),
    ],
    ids=["one number", "one category", "idle columns", "nearly idle", "copies"],
)
def test_any_table_has_shares_between_0_and_1(frame):
    usual = learn(frame)
    shares = of(usual, frame)
    assert ((shares > 0) & (shares <= 1)).all()
    assert np.mean(shares < UNLIKE) < 0.05
    assert len(why(usual, frame)) == len(frame)


def test_too_few_patients_tell_nothing():
    assert learn(draw(19, seed=0)) is None
    assert learn(draw(20, seed=0)) is not None


def test_one_subject_alone_gets_the_number_it_gets_among_others(usual):
    frame = draw(150, seed=3)
    frame.loc[::7, "weight"] = np.nan
    frame.loc[::11, "ward"] = "never seen"
    with pytest.warns(DataWarning, match="not seen in fit"):
        encoded = usual.encoding.encode(open_table(frame))
    together = usual.of(encoded)
    alone = [
        usual.of(Encoded(encoded.rows[i : i + 1], encoded.values[i : i + 1]))[0]
        for i in range(len(frame))
    ]
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-15)


def test_one_subject_of_whom_nothing_is_suggested_by_the_rest_has_a_number_too():
    """Of two levels that are equally frequent neither is expected."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 30})
    usual = learn(frame)
    np.testing.assert_array_equal(of(usual, frame[:1]), of(usual, frame)[:1])


def test_a_number_is_the_row_of_the_embedding_table_that_subjects_have(usual):
    encoded = usual.encoding.encode(open_table(draw(50, seed=4)))
    for row, column in zip(usual.residuals.row, usual.residuals.column, strict=True):
        assert row in encoded.rows[:, column]


def test_of_a_number_alone_nothing_else_is_suggested_than_its_middle():
    """Its residual is its score: of both, the same share reaches a value."""
    value, _, residual, _, _ = learn(draw(4_000, seed=1)[["age"]]).reference
    levels = np.linspace(0.05, 5, 50)
    at = np.interp(levels, *value[::-1]), np.interp(levels, *residual[::-1])
    np.testing.assert_allclose(*at, rtol=0.1)


def test_of_reasons_that_are_equal_but_for_rounding_the_first_is_named():
    assert _first_largest(np.array([0.5, 7.0, 7.0 + 1e-9, 7.0 - 1e-9])) == 1
    assert _first_largest(np.array([-np.inf, -np.inf])) == 0
    assert _first_largest(np.array([6.9, 7.0])) == 1


def made_of(n_columns=0, columns=(), pairs=(), precision=()):
    """What was learned of so many covariates, as far as it decides which are named."""
    column, precision = np.array(columns, dtype=int), np.array(precision, dtype=float)
    residuals = Residuals(column, column, 0.0 * column, 1.0 + column, precision)
    encoding = Encoding((), (None,) * n_columns)
    tables = PairTables(np.array(pairs).reshape(-1, 2), np.empty(0))
    return Typicality(encoding, None, tables, residuals, np.empty(0), 0)


@pytest.mark.parametrize(("pull", "named"), [(0.6, [0, 1]), (0.4, [0]), (-5.0, [0])])
def test_another_covariate_is_named_if_it_has_a_quarter_of_a_residual(pull, named):
    """It is 1, and 2 times the root of the precision; another level of the same has no part."""
    usual = made_of(columns=[0, 0, 1], precision=[[4, -2, -1], [-2, 4, 0], [-1, 0, 4]])
    residuals, values = np.array([1.0, 0.0, 0.5]), np.array([1.0, -9.0, -pull])
    assert usual._least_expected(residuals, values) == named
    assert usual._least_expected(-residuals, -values) == named


def test_of_all_pairs_the_worst_of_the_covariate_that_has_most_surprise_is_named():
    """The second has 2 + 3; the pair with 4 has no part in that."""
    usual = made_of(n_columns=5, pairs=[[0, 1], [1, 2], [3, 4]])
    assert usual._worst_of_all_pairs(np.array([2.0, 3.0, 4.0])) == [1, 2]
    assert usual._worst_of_all_pairs(np.array([2.0, 1.0, 4.0])) == [3, 4]


@pytest.mark.parametrize(("n", "n_bins"), [(20, 4), (130, 5), (3_000, 12)])
def test_numbers_have_as_many_bins_as_the_cube_root_of_subjects_from_4_to_12(n, n_bins):
    assert len(learn(draw(n, seed=1)[["age"]]).scores.edges) == n_bins - 1


def test_two_values_that_one_subject_lacks_are_filled_in_as_in_a_table():
    """Two copies but for a little: what is put in place of one depends on that of the other."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + 0.5 * rng.normal(size=200)
    usual = learn(pd.DataFrame({"x": x, "y": y, "z": y + 0.01 * rng.normal(size=200)}))
    encoded = usual.encoding.encode(open_table({"x": [2.0], "y": [np.nan], "z": [np.nan]}))
    read = usual.scores.read(usual.encoding, encoded)
    together = np.abs(usual.residuals.read(usual.encoding, encoded, read)).max()
    normal = {0: float(read.normal[0, 0])}
    alone = OneSubject(usual)._largest_residual(encoded.rows[0].tolist(), normal)
    assert alone == pytest.approx(together, rel=1e-9)


def test_what_is_shown_is_from_how_many_was_learned(usual):
    assert repr(usual) == "Typicality(n_subjects=4000)"
