"""Each messy table gets a right answer or a clear question, in Python and by command."""

import pytest

from messy.judge import judge
from messy.tables import TABLES, make

RUNS = [(name, way) for name in TABLES for way in make(name).ways]


def test_there_are_forty_and_more():
    assert len(TABLES) >= 40


@pytest.mark.parametrize(("name", "way"), RUNS, ids=[f"{name} ({way})" for name, way in RUNS])
def test_a_messy_table_gets_a_right_answer_or_a_clear_question(name, way):
    entry, table = TABLES[name], make(name)
    verdict = judge(entry, table, way)
    assert verdict.within(entry.expected), f"{verdict.seen}\n{verdict.words}"
