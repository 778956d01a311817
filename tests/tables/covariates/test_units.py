import pytest

from survtrace.tables.covariates.units import are_units, plain_unit, same_unit


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("", ""),
        ("mg / dL", "mg/dl"),
        ("\u00b5g/l.", "ug/l"),
        ("\u03bcg/l", "ug/l"),
        ("a" * 16, "a" * 16),
        ("a" * 17, None),
        ("or more", None),
        ("m_2", None),
    ],
)
def test_a_unit_is_a_usual_one_or_a_word_of_up_to_16_letters(text, unit):
    assert plain_unit(text) == unit


def test_a_word_that_is_no_usual_unit_has_no_name():
    assert (same_unit("Jahre"), same_unit("mmHg"), same_unit("furlongs")) == ("years", "mmhg", "")


def test_single_letters_alone_are_codes_and_no_units():
    assert not are_units(["H", "D"])  # sent home, and died
    assert are_units(["d", "yrs"])
