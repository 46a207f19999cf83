"""Mutation testing: the inserted faults, and the table in the documentation."""

from __future__ import annotations

import ast
import json

import pytest
from benchmarks import faults


@pytest.fixture(scope="module")
def rows():
    return json.loads(faults.RECORD.read_text(encoding="utf-8"))["result"]["rows"]


def test_the_page_shows_the_recorded_counts(rows):
    page = faults.PAGE.read_text(encoding="utf-8")
    assert page == faults.renewed(page, faults.summary(rows))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", faults.TRIALS)
def test_every_fault_changes_the_program_and_is_located_by_its_text(seed):
    for fault in faults.sampled(seed, 60):
        about, faulty = faults.described(fault)
        path = faults.ROOT / faults.PACKAGE / about["file"]
        source = path.read_text(encoding="utf-8")
        assert ast.dump(ast.parse(source)) != ast.dump(ast.parse(faulty))
        assert faults.described(faults.recorded(about))[1] == faulty
        assert faults.recorded({**about, "before": "no such line"}) is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", faults.TRIALS)
def test_faults_are_sampled_evenly_and_reproducibly(seed):
    groups = faults.TRIALS[seed]
    sampled = faults.sampled(seed, 8 * len(groups))
    assert sampled[: 4 * len(groups)] == faults.sampled(seed, 4 * len(groups))
    for prefixes in groups.values():
        assert sum(fault[0].startswith(prefixes) for fault in sampled) >= 8
