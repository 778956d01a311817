import numpy as np

from survtrace.tables.covariates.distinct_values import factorise


def test_codes_are_places_also_where_there_are_none():
    for values in ([], [None], ["f", "m"]):
        codes, distinct = factorise(values)
        assert codes.dtype == np.intp
        assert np.array([*distinct, None], dtype=object)[codes].tolist() == values
