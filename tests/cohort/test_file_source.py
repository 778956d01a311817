"""A file in chunks is the cohort: outcomes checked, rows numbered as in the whole table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from survtrace import DataError, DataWarning
from survtrace.cohort.file_source import FileSource
from survtrace.tables.covariates.covariates import infer_covariates
from survtrace.tables.outcome.roles import Roles

ROLES = Roles("cause", "months", drop=("patient",))


@pytest.fixture
def frame(three_causes):
    X, y = three_causes
    return X.assign(months=y["duration"], cause=y["event"], patient=range(len(X)))


@pytest.fixture
def stored(frame, tmp_path):
    """A function of columns to change and fields of `FileSource` that writes the file."""

    def store(roles=ROLES, **changes):
        frame.assign(**changes).to_parquet(tmp_path / "t.parquet", row_group_size=30)
        return FileSource(tmp_path / "t.parquet", roles, chunk_rows=50)

    return store


def read_kinds(files, categorical=None):
    return infer_covariates(next(files.chunks()).table, categorical)


def meaning(files):
    """The labels that are causes, and those that mean censored."""
    scan = files.scan()
    return scan.causes, scan.censored


def column(frame, name, row, value):
    values = frame[name].astype(object).to_numpy(copy=True)
    values[row] = value
    return pd.Series(values).infer_objects()


def test_chunks_make_up_the_table(stored, frame):
    chunks = list(stored().chunks())
    assert [chunk.number for chunk in chunks] == [0, 1, 2, 3, 4]
    assert [len(chunk.table) for chunk in chunks] == [50, 50, 50, 50, 40]
    assert np.concatenate([b.table["age"].to_numpy() for b in chunks]).tolist() == list(
        frame["age"]
    )
    found = np.concatenate([chunk.outcome.duration for chunk in chunks])
    np.testing.assert_array_equal(found, frame["months"])
    assert chunks[0].table.columns == ["age", "size", "sex", "stage"]


def test_a_file_that_changes_between_or_during_passes_is_refused(stored, frame):
    scanned = stored().scan().source
    stored(age=frame["age"] + 1)
    with pytest.raises(DataError, match=r"t.parquet was changed while it was read"):
        list(scanned.chunks())
    chunks = stored().scan().source.chunks()
    next(chunks)
    stored(age=frame["age"] + 2)
    with pytest.raises(DataError, match=r"t.parquet (was changed|could not be read)"):
        list(chunks)


def test_kinds_are_those_of_the_files_types(stored, frame):
    files = stored(code=3, flag=True)
    kinds = {covariate.name: covariate.kind for covariate in read_kinds(files, ["code"])}
    assert kinds == {
        "age": "numerical",
        "size": "numerical",
        "sex": "categorical",
        "stage": "categorical",
        "code": "categorical",
        "flag": "categorical",
    }
    with pytest.raises(DataError, match="column 'visit' holds dates"):
        read_kinds(stored(visit=pd.Timestamp("2020-01-01")))


def test_subjects_censored_at_once_are_not_kept(stored, frame):
    event = column(column(frame, "cause", 60, 0).to_frame("cause"), "cause", 61, 0)
    files = stored(months=column(frame, "months", [60, 61], 0.0), cause=event)
    second = list(files.chunks())[1]
    assert set(range(50)) - set(second.rows) == {10, 11}
    assert len(second.outcome) == len(second.weight) == 48


@pytest.mark.parametrize(
    ("name", "row", "value", "words"),
    [
        ("months", 120, np.nan, r"duration must be finite; 1 of 50 are not \(first: row 120, nan"),
        ("months", 239, -1.0, r"zero or more; 1 of 40 are not \(first: row 239, -1\.0"),
        ("months", 7, "long", "duration must be a number"),
        ("cause", 77, -2, r"event must be 0.*first: row 77, -2"),
        ("cause", 77, None, r"event must be 0.*first: row 77, nan"),
        ("w", 130, -1.0, r"weights must be finite numbers of zero or more.*first: row 130\)"),
        ("w", 130, np.nan, r"weights must be finite.*first: row 130\)"),
        ("w", 130, 1e21, r"weights must be .*\(up to 1e\+20\); 1 of 50 .*first: row 130\)"),
        ("w", 130, np.inf, r"must be finite; column 'w' has 1 infinite values \(first: row 130"),
    ],
)
def test_errors_count_rows_from_the_first_of_the_table(stored, frame, name, row, value, words):
    changed = column(frame.assign(w=1.0), name, row, value)
    changed = changed.astype(str) if isinstance(value, str) else changed
    files = stored(Roles("cause", "months", "w"), **{"w": 1.0, name: changed})
    with pytest.raises(DataError, match=words):
        list(files.chunks())


def test_an_event_at_zero_is_refused_kept_or_moved(stored, frame):
    row = int(np.flatnonzero(frame["cause"])[-1])
    files = stored(months=column(frame, "months", row, 0.0))
    with pytest.raises(DataError, match=rf"first: row {row}\)\. Pass zero_duration='shift'"):
        list(files.chunks())
    for codes in (0.0, 0.25):
        duration = np.concatenate(
            [b.outcome.duration for b in replace(files, zero_duration=codes).chunks()]
        )
        assert duration[row] == codes


def test_who_is_censored_is_decided_by_the_whole_file(stored, frame):
    order = np.argsort(frame["cause"], kind="stable")  # the first chunks have no event at all
    words = frame["cause"].map({0: "Alive", 1: "a", 2: "b", 3: "c"}).iloc[order].to_numpy()
    assert meaning(stored(cause=words)) == (("a", "b", "c"), ("Alive",))
    codes = frame["cause"].iloc[order].to_numpy() + 1
    with pytest.raises(DataError, match="nobody is censored, though there are several labels"):
        stored(cause=codes).scan()
    roles = Roles("cause", "months", drop=("patient",), censored=(1,))
    assert meaning(stored(roles, cause=codes)) == ((2, 3, 4), (1,))
    chunks = stored(roles, cause=codes).scan().source.chunks()
    found = np.concatenate([chunk.outcome.event for chunk in chunks])
    np.testing.assert_array_equal(found, codes - 1)
    with pytest.raises(DataError, match="'alive' does not"):
        stored(Roles("cause", "months", censored=("alive",)), cause=codes).scan()


def test_an_identifier_is_no_event_column(stored):
    with pytest.raises(DataError, match="look like an identifier"):
        stored(Roles("patient", "months", drop=("cause",))).scan()


def test_only_parquet_is_streamed(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"reads a Parquet file or a folder of them; got t\.csv"):
        FileSource(tmp_path / "t.csv", ROLES).scan()
    with pytest.raises(DataError, match="does not exist"):
        FileSource(tmp_path / "nowhere.parquet", ROLES).scan()


def test_a_table_of_outcomes_alone_is_refused(frame, tmp_path):
    frame[["months", "cause"]].to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="must have covariates"):
        FileSource(tmp_path / "t.parquet", Roles("cause", "months")).scan()


def test_some_chunks_have_the_numbers_and_rows_they_have_in_the_whole(stored):
    whole, some = list(stored().chunks()), list(stored().chunks(span=range(2, 4)))
    assert [(chunk.number, chunk.first_row) for chunk in some] == [(2, 100), (3, 150)]
    for found, expected in zip(some, whole[2:4], strict=True):
        np.testing.assert_array_equal(found.outcome.duration, expected.outcome.duration)


def test_a_scan_tells_the_event_of_every_subject(stored, frame):
    scan = stored().scan(end=5.0)
    np.testing.assert_array_equal(scan.event, frame["cause"])
    assert scan.event.dtype == np.uint8
    np.testing.assert_array_equal(scan.is_late, frame["months"] > 5)
    late = scan.is_late & (scan.event > 0)
    assert (
        sum(scan.count_events(scan.event_on_grid).values()) == (scan.event > 0).sum() - late.sum()
    )
    assert scan.sizes == [50, 50, 50, 50, 40]
    assert scan.source.causes == (1, 2, 3)


def test_a_scan_finds_where_events_at_zero_go(stored, frame):
    row = int(np.flatnonzero(frame["cause"])[-1])
    files = replace(stored(months=column(frame, "months", row, 0.0)), zero_duration="shift")
    smallest = frame["months"].drop(row).min()
    assert files.scan().source.zero_duration == smallest / 2


@pytest.fixture
def cut_file(three_causes, cut, tmp_path):
    """A function of columns to change that writes start-stop rows, in chunks of 50."""
    X, y = three_causes
    rows, parts = cut(X, y)
    frame = rows.assign(**parts.assign(id=parts["id"].map("p{:03d}".format)), w=1.0)

    def store(**changes):
        frame.assign(**changes).to_parquet(tmp_path / "cut.parquet", row_group_size=30)
        roles = Roles("event", "duration", weight="w", entry="entry", id="id")
        return frame, FileSource(tmp_path / "cut.parquet", roles, chunk_rows=50)

    return store


def across_chunks(frame):
    """The first row of a chunk that goes on with a subject of the chunk before."""
    goes_on = frame["id"].eq(frame["id"].shift()).to_numpy()
    return next(row for row in range(50, len(frame), 50) if goes_on[row])


def test_a_chunk_knows_entries_subjects_and_who_goes_on_in_another(cut_file):
    frame, files = cut_file()
    scan = files.scan()
    outcomes = [chunk.outcome for chunk in scan.source.chunks()]
    goes_on = frame["id"].eq(frame["id"].shift(-1))
    for name, expected in (("entry", frame["entry"]), ("goes_on", goes_on)):
        found = np.concatenate([getattr(outcome, name) for outcome in outcomes])
        np.testing.assert_array_equal(found, expected)
    assert scan.n_subjects == 240
    assert scan.entry is None
    assert scan.n_whole == (frame["id"].map(frame["id"].value_counts()) == 1).sum()
    assert scan.source.beside == ["event", "duration", "entry", "id", "w"]


def test_rows_of_a_subject_are_checked_across_chunks(cut_file):
    frame, _ = cut_file()
    row = across_chunks(frame)
    name = frame["id"][row]
    early = column(frame, "entry", row, frame["entry"][row] / 2)
    with pytest.raises(
        DataError, match=rf"not overlap; .*row {row - 1} and row {row}, id '{name}'"
    ):
        cut_file(entry=early)[1].scan()
    with pytest.raises(DataError, match=rf"last row of its subject.*row {row}, id '{name}'"):
        cut_file(event=column(frame, "event", row - 1, 1))[1].scan()
    with pytest.raises(DataError, match=rf"same weight; 1 of .* column 'w' .*row {row}, 2 after 1"):
        cut_file(w=column(frame, "w", row, 2.0))[1].scan()
    late = column(frame, "entry", row, (frame["entry"][row] + frame["duration"][row]) / 2)
    with pytest.warns(DataWarning, match=rf"1 of 240 subjects have gaps .*before row {row}"):
        cut_file(entry=late)[1].scan()


def test_entries_as_text_and_one_subject_alone_are_refused(cut_file):
    frame, _ = cut_file()
    with pytest.raises(DataError, match=r"entry must be a number .* column 'entry' holds"):
        cut_file(entry=frame["entry"].map(str))[1].scan()
    ends = np.arange(1.0, len(frame) + 1)
    with pytest.raises(DataError, match=r"two subjects; all .* rows have the same id"):
        cut_file(id="a", entry=ends - 1, duration=ends, event=(ends == len(frame)) * 1)[1].scan()


def test_of_durations_that_may_be_ages_nobody_is_asked_who_lived_longer(stored, frame):
    died = frame["months"] > frame["months"].median()
    changes = {"vital_status": died.astype(int), "age_at_entry": frame["months"] / 2}
    roles = Roles("vital_status", "months", drop=("patient", "cause", "age_at_entry"))
    with pytest.raises(DataError, match="those with 1 were followed longer"):
        stored(roles, **changes).scan()
    late = Roles("vital_status", "months", entry="age_at_entry", drop=("patient", "cause"))
    assert stored(late, **changes).scan().causes == (1,)
