"""The store of records is safe against kills: no record is lost, incomplete or duplicated."""

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


def test_records_are_read_as_written_with_versions_and_machine(tmp_path):
    store = Store(tmp_path)
    store.append(record())
    (read,) = list(store)
    assert {name: read[name] for name in record()} == record()
    assert read["versions"] == environment()["versions"]
    assert set(read["machine"]) == {"system", "architecture", "processor", "cores"}


def test_there_is_one_file_per_dataset_with_one_line_about_the_machine(tmp_path):
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


def test_an_incomplete_line_is_ignored_and_removed(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    store.close()
    path = store.folder / "wine.jsonl"
    with path.open("ab") as file:
        file.write(b'{"experiment": "objec')
    assert len(list(Store(tmp_path))) == 1
    again = Store(tmp_path)
    again.append(record(1))
    assert [read["seed"] for read in again] == [0, 1]
    assert path.read_bytes().endswith(b"\n")


def test_the_error_for_an_invalid_line_names_file_and_line(tmp_path):
    store = Store(tmp_path)
    store.append(record(0))
    (store.folder / "wine.jsonl").write_text("gibberish\n")
    with pytest.raises(ValueError, match=r"Line 1 of .*wine\.jsonl is not a valid record"):
        list(store)


def test_the_first_of_several_records_of_a_run_counts(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    first.append(record(0))
    second.append(record(0, value=0.6))
    assert [read["value"] for read in first] == [0.5]
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


def test_no_record_is_lost_by_kills_at_random_times(tmp_path):
    rng = np.random.default_rng(0)
    written: list[int] = []
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        written.append(int(child.stdout.readline()))  # it has started
        time.sleep(float(rng.uniform(0.0, 0.05)))
        os.kill(child.pid, signal.SIGKILL)
        written += [int(line) for line in child.stdout.read().splitlines() if line]
        child.wait()
        child.stdout.close()
    seeds = [read["seed"] for read in Store(tmp_path)]
    assert set(written) <= set(seeds)
    assert seeds == list(range(len(seeds)))  # every run resumed where the last one ended
    assert len(written) == len(set(written))


def shared_record(**more):
    runs = {
        "values": [0.5, 0.6],
        "accuracies": [0.9, 0.8],
        "nmis": [0.7, 0.6],
        "partitions": ["ab", "cd"],
    }
    return {**record(), "experiment": "evidence", **runs, **more}


def test_a_record_of_many_runs_is_read_completely(tmp_path):
    store = Store(tmp_path)
    store.append(shared_record())
    (read,) = list(store)
    assert read["partitions"] == ["ab", "cd"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"partitions": ["ab"]}, "'partitions' has the length 1"),
        ({"partitions": ["ab", 3]}, "'partitions' does not consist of strings"),
        ({"partitions": "abcd"}, "'partitions' is not of type list"),
        ({"nmis": [0.7]}, "'nmis' has the shape"),
    ],
)
def test_a_record_of_many_runs_must_have_the_partition_of_each(tmp_path, more, message):
    store = Store(tmp_path)
    store.append(shared_record(**more))
    with pytest.raises(ValueError, match=r"Line 2 of .* is not a valid record") as error:
        list(store)
    assert message in str(error.value)
