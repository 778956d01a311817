"""Whatever stands in a row: the numbers, warnings and errors of the estimator, and never NaN."""

import datetime
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from survtrace import SurvtraceError, portable

ODD = [
    [1, 2], [], (1,), {}, {"a": 1}, set(), range(3), np.array([1.0]), np.array(5.0), 1 + 2j,
    b"61", b"x", bytearray(b"1"), 10**25, 10**400, -(10**5000), True, False, None, math.nan, pd.NA,
    pd.NaT, "61", " 61 ", "6,1", "1_000", "1e400", "nan", "inf", math.inf, -math.inf, "",
    "x" * 9999,
    "\ud800", "\x00", "\u0661\u0662", np.float32(61), np.int64(61), np.bool_(True), np.str_("a"),
    np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), Decimal("61.5"), Decimal("nan"),
    Fraction(1, 3), Ellipsis, 1e-320, -0.0, 1e20, 1.0000001e20, "unknown", "<5", "a ", "A",
]  # fmt: skip
CELLS = st.one_of(
    st.sampled_from(ODD),
    st.floats(),
    st.integers(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
)


@pytest.fixture(scope="module")
def light(fitted_three, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "model"
    fitted_three.save(path)
    return portable.load(path)


def ask(predictor, X):
    """The incidences, or the words of the error; and of what it warned."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = predictor.predict_cumulative_incidence(X, [1.0, 2.0])
        except SurvtraceError as error:
            found = f"{type(error).__name__}: {error}"
    return found, [str(warning.message) for warning in caught]


def require_equal(est, light, rows):
    columns = {name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]}
    (found, warned), (expected, expected_warnings) = (
        ask(light, rows),
        ask(est, pd.DataFrame(columns)),
    )
    assert warned == expected_warnings
    if isinstance(expected, str):
        assert found == expected
    else:
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_an_odd_value_gets_what_the_estimator_gives(fitted_three, three_causes, light, value):
    usual = three_causes[0].astype(object).iloc[0].to_dict()
    for name in usual:
        require_equal(fitted_three, light, [{**usual, name: value}])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_odd_rows_get_what_the_estimator_gives(fitted_three, three_causes, light, data):
    usual = three_causes[0].astype(object).iloc[:2].to_dict("records")
    changes = st.dictionaries(st.sampled_from(sorted(usual[0])), CELLS, max_size=3)
    require_equal(fitted_three, light, [{**row, **data.draw(changes)} for row in usual])
