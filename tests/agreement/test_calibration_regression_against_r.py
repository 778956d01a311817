"""Pseudo-values, calibration intercept and slope, smooth curve and its errors equal R's.

R's numbers are stored in r/calibration.json; r/calibration.R makes them with prodlim, geepack, rms.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from survtrace.errors import DataWarning
from survtrace.metrics import (
    calibration_errors,
    calibration_intercept_slope,
    pseudo_values,
    smooth_calibration_curve,
)

TABLES = json.loads((Path(__file__).parent / "r" / "calibration.json").read_text())["tables"]
CASES = [
    pytest.param(table, case, id=f"{name}-cause{case['cause']}-{case['horizon']}")
    for name, table in TABLES.items()
    for case in table["cases"]
]


def differences(table, case):
    """Largest difference to R of each number; R has no curve where its steps run away."""
    y = {"event": table["event"], "duration": table["duration"]}
    given = {"horizon": case["horizon"], "cause": case["cause"]}
    line = calibration_intercept_slope(y, case["predicted"], **given)
    ours = {
        "pseudo": pseudo_values(y, **given),
        "intercept": line.intercept,
        "intercept_error": line.intercept.standard_error,
        "slope": line.slope,
        "slope_error": line.slope.standard_error,
        "statistic": line.statistic,
        "p_value": line.p_value,
    }
    if "at" in case:
        curve = smooth_calibration_curve(y, case["predicted"], **given, at=case["at"])
        ours |= {"observed": curve.observed, "low": curve.low, "high": curve.high}
        ours |= asdict(calibration_errors(y, case["predicted"], **given))
        del ours["ici_by_chance"]  # R has none
    elif len(table["event"]) == 14:  # elsewhere our steps may end where geese's do not
        with pytest.warns(DataWarning, match="the smooth calibration curve is NaN"):
            assert np.isnan(calibration_errors(y, case["predicted"], **given).ici)
    return {name: np.abs(np.subtract(value, case[name])).max() for name, value in ours.items()}


@pytest.mark.parametrize(("table", "case"), CASES)
def test_calibration(table, case):
    found = differences(table, case)
    assert found.pop("pseudo") < 1e-11
    band = max(found.pop("low", 0), found.pop("high", 0))  # at the ends its error is huge
    assert band < 1e-6
    assert max(found.values()) < 1e-7, found
