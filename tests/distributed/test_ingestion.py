"""A cohort shared out is read as it is by one process."""

import numpy as np
import pytest

from survtrace import DataError
from survtrace.cohort.scratch_file import RecordStore
from survtrace.distributed.ingestion import SharedRecords, Written
from survtrace.distributed.spans import cut


@pytest.mark.parametrize(("n_pieces", "n_spans"), [(0, 3), (1, 8), (7, 3), (64, 64), (1000, 7)])
def test_spans_cover_all_pieces_once(n_pieces, n_spans):
    spans = cut(n_pieces, n_spans)
    assert [piece for span in spans for piece in span] == list(range(n_pieces))
    assert all(len(span) > 0 for span in spans)
    assert len(spans) <= n_spans


def test_blocks_are_read_from_the_files_they_lie_in(tmp_path):
    dtype = np.dtype([("age", np.uint8)])
    ages = [[61, 47], [55], [70, 71, 72], [33]]
    parts = []
    for number, blocks in enumerate((ages[:2], ages[2:])):
        file = tmp_path / str(number)
        np.array([(age,) for block in blocks for age in block], dtype).tofile(file)
        parts.append(Written(file, [len(block) for block in blocks], b"x"))
    store = SharedRecords(tuple(parts), dtype)
    assert isinstance(store, RecordStore)
    assert list(store.sizes) == [2, 1, 3, 1]
    assert store.read([2, 0])["age"].tolist() == [70, 71, 72, 61, 47]
    assert store.read([3], length=3)["age"].tolist() == [33, 0, 0]
    assert store.read([])["age"].tolist() == []


def test_a_file_that_has_lost_its_end_is_an_error_not_fewer_rows(tmp_path):
    dtype = np.dtype([("age", np.uint8)])
    np.zeros(3, dtype).tofile(tmp_path / "0")
    store = SharedRecords((Written(tmp_path / "0", [2, 2], b"x"),), dtype)
    assert len(store.read([0])) == 2
    with pytest.raises(DataError, match="shorter than what was written to it: 1 of 2 records"):
        store.read([1])
