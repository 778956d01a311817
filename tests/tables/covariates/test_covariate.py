"""A covariate is written to a file and read back as it was."""

import json

import pytest

from survtrace.tables.covariates.covariate import Covariate


@pytest.mark.parametrize(
    "covariate",
    [
        Covariate("age", "numerical"),
        Covariate("crp", "numerical", decimal=",", missing=("999", "-"), unit="mg/l", low=0.0),
        Covariate("sex", "categorical", label="Sex at birth", levels=("f", "m")),
    ],
    ids=lambda covariate: covariate.name,
)
def test_a_covariate_survives_json(covariate):
    plain = json.loads(json.dumps(covariate.as_dict()))
    assert Covariate.from_dict(covariate.name, covariate.kind, plain) == covariate
