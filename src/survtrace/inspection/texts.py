"""Recognise dates, identifiers, free text, and ways to write one level, in texts and names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from survtrace.tables.covariates.values import plain_text

N_FEW = 30  # rows below which a table is not judged by how many distinct values a column has
N_IDENTIFIER = 50
_MONTH = (
    r"(?:jan|feb|m[aä]r|mrz|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|"
    r"janv|f[eé]vr?|avr|juin|juil|ao[uû]t|d[eé]c|ene|abr|ago|dic)[a-zéû]*\.?"
)
_TIME = (
    r"(?:[T ,]+\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?\s*"
    r"(?:[ap]\.?m\.?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_DATE = re.compile(
    "(?:"
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?[-/. ]*{_MONTH}[-/., ]*(?:\d{{4}}|\d{{2}})"
    rf"|{_MONTH}[-/. ]*\d{{1,2}}(?:st|nd|rd|th)?[-/., ]+(?:\d{{4}}|\d{{2}})"
    rf"|{_MONTH}[-/. ]*\d{{4}}"
    r"|(?:0?[1-9]|1[0-2])[-/.](?:19|20)\d{2}"
    r"|(?:19|20)\d{2}[-/](?:0?[1-9]|1[0-2])"
    rf"){_TIME}",
    re.IGNORECASE,
)
_JOINED_ID = (
    r"(?:(?:u?subj|subject|patient|pat|pt|person|enrol|enroll|sample|site|study|case|hosp|hospital|"
    r"cent(?:er|re)|inv)id|[efi]id|seqn|pseudonym|pubcsnum|"
    r"(?:subj|subject|patient|pat|pt|person|study|case|id|lfd)(?:no|nr|num))"
)
_NAMED_ID = re.compile(
    rf"(?:^|[^a-z])(?:{_JOINED_ID}|id|ids|nr|no|num|number|mrn|ssn|pid|uid|guid|uuid|key|index|row|rownames|"
    r"unnamed|record|patient|patients|subject|case|fall|fallnummer|patientennummer|"
    r"patientnr|casenr|studienr|barcode|sample)(?:[^a-z]|$)",
    re.IGNORECASE,
)
# Named so, numbers are a name and no measurement, also where it occurs in several rows. "Fall" is a
# case in German, but falls are counted in English.
_NAMED_KEY = re.compile(
    rf"(?:.*[^a-z])?(?:{_JOINED_ID}|ids?|mrn|ssn|pid|uid)|"
    r"(?:patient|subject|participant|person)(?:[^a-z]*(?:nr|no|num|number|nummer|key))?|"
    r"fall[^a-z]*(?:nr|nummer)",
    re.IGNORECASE,
)
_NAMED_PATIENT = re.compile(
    r"(?:.*[^a-z])?(?:u?subj|subject|patient|pat|pt|person|participant|enroll?)"
    r"[^a-z]*(?:id|nr|no|num|number|nummer|key)|patient|subject|participant|person|id|mrn|pid|eid",
    re.IGNORECASE,
)
_NAMED_CODE = re.compile(
    r"(?:^|[^a-z])(?:\w*code|zip|plz|postleitzahl|icd\d*|ops)(?:[^a-z]|$)", re.I
)
_NAMED_DATE = re.compile(
    r"(?:(?:.*[^a-z])?(?<!to )(?:\w*date|\w*datum|dob|dod|fecha)|(?:date|datum|fecha)[^a-z].*)",
    re.IGNORECASE,
)
_NAMED_PERSON = re.compile(
    r"(?:^|[^a-z])(?:name|names|\w*surname|\w*forename|firstname|lastname|fullname|nachname|vorname|"
    r"nom|prenom|prénom|apellidos?|nombre|cognome|address|adresse|street|strasse|straße|e-?mail|"
    r"phone|telephone|telefon|mobile|contact)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def are_dates(texts: Sequence[str], counts: NDArray[np.int64]) -> bool:
    """Check whether texts are dates, in any form, in nine of ten rows.

    Examples
    --------
    >>> are_dates(["2020-01-31", "31.12.2019", "5 Mar 2021"], np.ones(3, dtype=int))
    True
    """
    for n_texts, least in ((200, 0.5), (len(texts), 0.9)):  # few are enough to say no
        some, rows = texts[:n_texts], counts[:n_texts]
        match = np.fromiter((_DATE.fullmatch(text) is not None for text in some), bool, len(some))
        if rows[match].sum() / max(rows.sum(), 1) < least:
            return False
    return True


def is_named_like_an_identifier(name: str) -> bool:
    """Check whether a column is named like an identifier of subjects.

    Examples
    --------
    >>> [is_named_like_an_identifier(name) for name in ("patient_id", "PatientNr", "idle", "age")]
    [True, True, False, False]
    """
    return _NAMED_ID.search(_spaced(name)) is not None


def is_named_like_a_key(name: str) -> bool:
    """Check whether a column is named like what tells patients, or places, from each other.

    Examples
    --------
    >>> [is_named_like_a_key(name) for name in ("patient_id", "SITEID", "Fallnr", "falls")]
    [True, True, True, False]
    """
    return _NAMED_KEY.fullmatch(_spaced(name).strip()) is not None


def is_named_like_a_patient(name: str) -> bool:
    """Check whether a column is named like what tells patients from each other, and nothing else.

    Examples
    --------
    >>> [is_named_like_a_patient(name) for name in ("Patient ID", "USUBJID", "site_id", "pt")]
    [True, True, False, False]
    """
    return _NAMED_PATIENT.fullmatch(_spaced(name).strip()) is not None


def _spaced(name: str) -> str:
    """Put blanks between the words of a name: "PatientNr" becomes "Patient Nr"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")


def is_named_like_a_person(name: str) -> bool:
    """Check whether a column is named like people's names and addresses.

    Examples
    --------
    >>> [is_named_like_a_person(name) for name in ("Last name", "surname", "drug_named")]
    [True, True, False]
    """
    return _NAMED_PERSON.search(_spaced(name)) is not None


def is_named_like_a_date(name: str) -> bool:
    """Check whether a column is named like dates.

    Examples
    --------
    >>> names = ("birth_date", "DateOfDeath", "Aufnahmedatum", "dose_to_date", "days")
    >>> [is_named_like_a_date(name) for name in names]
    [True, True, True, False, False]
    """
    return _NAMED_DATE.fullmatch(_spaced(name).strip()) is not None


def is_named_like_a_code(name: str) -> bool:
    """Check whether a column is named like codes, such as postcodes."""
    return _NAMED_CODE.search(name) is not None


def are_distinct(n_distinct: int, n_rows: int) -> bool:
    """Check whether (nearly) every row has another value, in a table large enough to tell."""
    return n_rows >= N_IDENTIFIER and n_distinct >= 0.95 * n_rows


def are_sentences(texts: Sequence[str], counts: NDArray[np.int64]) -> bool:
    """Check whether texts are free text: many that occur once or twice, of several words."""
    if int(counts.sum()) < N_FEW or len(texts) < 20 or (counts <= 2).mean() < 0.5:
        return False
    rare = [text for text, n in zip(texts, counts.tolist(), strict=True) if n <= 2]
    n_words = np.mean([len(text.split()) for text in rare])
    return bool(n_words >= 4 and np.mean([len(text) for text in rare]) >= 20)


def spellings(texts: Sequence[str], counts: NDArray[np.int64]) -> dict[str, list[str]]:
    """Find levels that are written in several ways: the most frequent one, and the others.

    Examples
    --------
    >>> spellings(["Male", "male ", "f", "MALE"], np.array([7, 3, 9, 1]))
    {'Male': ['male ', 'MALE']}
    """
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        groups.setdefault(plain_text(text), []).append(number)
    found = {}
    for numbers in groups.values():
        if len({texts[number].strip() for number in numbers}) > 1:
            first, *others = sorted(numbers, key=lambda number: -int(counts[number]))
            found[texts[first].strip()] = [texts[number] for number in others]
    return found
