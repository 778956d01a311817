from survtrace.tables.covariates.missing import SENTINELS


def test_a_digit_from_7_on_that_is_repeated_may_mean_not_known_with_either_sign():
    codes = {float(digit * times) for digit in "789" for times in (2, 3, 4)}
    codes |= {9.0, 99999.0, 999999.0, 9.99, 99.9, 99.99, 999.9}
    assert set(SENTINELS) == codes | {-code for code in codes}
