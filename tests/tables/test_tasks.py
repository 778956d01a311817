import warnings

import pytest

from survtrace.errors import DataError, DataWarning, row_name, rows_named, warn
from survtrace.tables.tasks import N_BLOCK, map_in_order, one_by_one, row_blocks
from survtrace.threads import run_in_threads


def in_threads(task, n_tasks):
    run_in_threads(task, n_tasks, 3)


BOTH = pytest.mark.parametrize("run", [one_by_one, in_threads])


@BOTH
def test_results_are_in_the_order_of_the_items(run):
    assert map_in_order(lambda k: k * k, range(20), run) == [k * k for k in range(20)]


@BOTH
def test_warnings_come_in_order_from_the_line_of_the_caller_and_end_with_the_first_error(run):
    def read(k):
        warn(f"column {k}", DataWarning)
        if k in (3, 5):
            raise DataError(f"column {k} in {row_name(k)}")

    with (
        warnings.catch_warnings(record=True, action="always") as caught,
        rows_named("line", 2),
        pytest.raises(DataError, match=r"^column 3 in line 5$"),
    ):
        map_in_order(read, range(8), run)
    assert [str(each.message) for each in caught] == [f"column {k}" for k in range(4)]
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize("n_rows", [0, 1, N_BLOCK, N_BLOCK + 1, 3 * N_BLOCK + 7])
def test_blocks_cover_every_row_once(n_rows):
    rows = [row for block in row_blocks(n_rows) for row in range(block.start, block.stop)]
    assert rows == list(range(n_rows))
