"""No change may cost quality: the cut values of seeded runs fall or stay, within one percent.

The record is ``seeded_runs.json``; ``seeded_runs.py`` says how to renew it. A search budget that is
cut down, a stage that is skipped or a start that gets worse shows here, and nowhere else.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import seeded_runs

RUNS = dict(seeded_runs.runs())
ON_RECORD = json.loads(seeded_runs.RECORD.read_text(encoding="utf-8"))


def test_every_run_is_on_record():
    assert list(RUNS) == list(ON_RECORD)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", RUNS)
def test_no_seeded_value_rises(name):
    if name.endswith(" amg"):
        pytest.importorskip("pyamg")
    labels, value = RUNS[name]()
    if name.startswith("relax"):
        assert value == pytest.approx(ON_RECORD[name], rel=1e-6)
        return
    assert np.isfinite(value)
    assert labels.min() == 0
    assert value <= 1.01 * ON_RECORD[name] + 1e-12
