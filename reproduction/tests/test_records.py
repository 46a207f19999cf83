"""Records survive a kill at any moment: none lost, none half-written, none twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from reproduction.runs.records import Store, environment, key_of
from reproduction.tests.helpers import ROOT


def record(seed=0, dataset="wine", **more):
    return {
        "experiment": "objective",
        "dataset": dataset,
        "cut": "ratio",
        "method": "kmeans",
        "parameters": {"n_init": 10},
        "seed": seed,
        "value": 0.5,
        **more,
    }


def test_what_is_written_is_read_with_versions_and_machine(tmp_path):
    store = Store(tmp_path)
    store.append(record())
    (found,) = list(store)
    assert {name: found[name] for name in record()} == record()
    assert found["versions"] == environment()["versions"]
    assert set(found["machine"]) == {"system", "architecture", "processor", "cores"}


def test_one_file_per_dataset_and_one_line_about_the_machine(tmp_path):
    store = Store(tmp_path)
    for seed in range(3):
        store.append(record(seed))
    store.append(record(dataset="usps:11"))
    store.close()
    store.append(record(3))
    assert sorted(path.name for path in store.folder.iterdir()) == ["usps.jsonl", "wine.jsonl"]
    lines = (store.folder / "wine.jsonl").read_text().splitlines()
    assert sum("versions" in json.loads(line) for line in lines) == 1
    assert len(lines) == 5


def test_a_torn_line_is_not_read_and_is_cut_off(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    store.close()
    path = store.folder / "wine.jsonl"
    with path.open("ab") as file:
        file.write(b'{"experiment": "objec')
    assert len(list(Store(tmp_path))) == 1
    again = Store(tmp_path)
    again.append(record(1))
    assert [found["seed"] for found in again] == [0, 1]
    assert path.read_bytes().endswith(b"\n")


def test_a_file_changed_by_something_else_is_an_error_that_says_where(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    (store.folder / "wine.jsonl").write_text("gibberish\n")
    with pytest.raises(ValueError, match=r"Line 1 of .*wine\.jsonl is not a record"):
        list(store)


def test_the_same_run_counts_once(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    first.append(record(0))
    second.append(record(0, value=0.6))
    assert [found["value"] for found in first] == [0.5]
    assert first.keys() == {key_of(record(0))}


WRITER = """
import sys
from reproduction.runs.records import Store, key_of
store = Store(sys.argv[1])
known = store.keys()
for seed in range(100_000):
    record = dict(experiment="objective", dataset="wine", cut="ratio", method="kmeans",
                  parameters={"n_init": 10}, seed=seed, value=0.5, padding="x" * 300)
    if key_of(record) not in known:
        store.append(record)
        print(seed, flush=True)
"""


def test_killed_at_random_moments_nothing_is_lost(tmp_path):
    rng = np.random.default_rng(0)
    told: list[int] = []
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        told.append(int(child.stdout.readline()))  # it is at work
        time.sleep(float(rng.uniform(0.0, 0.05)))
        os.kill(child.pid, signal.SIGKILL)
        told += [int(line) for line in child.stdout.read().splitlines() if line]
        child.wait()
        child.stdout.close()
    seeds = [found["seed"] for found in Store(tmp_path)]
    assert set(told) <= set(seeds)
    assert seeds == list(range(len(seeds)))  # every run continued where the last one ended
    assert len(told) == len(set(told))


def shared_record(**more):
    runs = {
        "values": [0.5, 0.6],
        "accuracies": [0.9, 0.8],
        "nmis": [0.7, 0.6],
        "partitions": ["ab", "cd"],
    }
    return {**record(), "experiment": "evidence", **runs, **more}


def test_a_record_of_many_runs_is_read_whole(tmp_path):
    store = Store(tmp_path)
    store.append(shared_record())
    (found,) = list(store)
    assert found["partitions"] == ["ab", "cd"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"partitions": ["ab"]}, "'partitions' has the length 1"),
        ({"partitions": ["ab", 3]}, "'partitions' does not hold strings"),
        ({"partitions": "abcd"}, "'partitions' is not of type list"),
        ({"nmis": [0.7]}, "'nmis' has the shape"),
    ],
)
def test_a_record_of_many_runs_names_the_partition_of_each(tmp_path, more, told):
    store = Store(tmp_path)
    store.append(shared_record(**more))
    with pytest.raises(ValueError, match=r"Line 2 of .* is not a record") as error:
        list(store)
    assert told in str(error.value)
