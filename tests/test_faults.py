"""The trial of faults: that it puts in what it says, and that the page shows what it counted."""

from __future__ import annotations

import ast
import json

import pytest
from benchmarks import faults


@pytest.fixture(scope="module")
def rows():
    return json.loads(faults.RECORD.read_text(encoding="utf-8"))["result"]["rows"]


def test_the_page_shows_what_was_counted(rows):
    page = faults.PAGE.read_text(encoding="utf-8")
    assert page == faults.renewed(page, faults.summary(rows))


def test_faults_that_change_a_result_are_noticed(rows):
    drawn = faults.summary(rows)["drawn"]
    assert drawn["tried"] >= 70
    assert drawn["noticed"] >= 0.85 * (drawn["tried"] - drawn["without_effect"])


def test_no_fault_is_both_noticed_and_without_effect(rows):
    assert not any(row["noticed_by"] and "without_effect" in row for row in rows)


def test_every_fault_is_another_program():
    for fault in [*faults.named(), *faults.drawn(200)]:
        about, faulty = faults.described(fault)
        source = (faults.ROOT / faults.PACKAGE / about["file"]).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(source)) != ast.dump(ast.parse(faulty))


def test_faults_are_drawn_evenly_and_the_same_every_time():
    drawn = faults.drawn(100)
    assert drawn[:50] == faults.drawn(50)
    for folder in faults.FOLDERS:
        assert sum(fault[0].startswith(folder) for fault in drawn) == 20
