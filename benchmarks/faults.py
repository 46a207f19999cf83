"""Mutation testing: the fraction of small faults in the core that the tests detect.

``LEASTCUT_FAULTS=41:54 python -m benchmarks faults`` inserts faults one at a time into a copy of
the source tree and runs the tests of the file until one fails. It samples 54 faults with seed 41,
evenly over the groups of that trial (``TRIALS``) and at most one per line. Without the variable
nothing runs.

Recorded faults are not run again, so trials add up. ``LEASTCUT_AGAIN=1`` runs only the undetected
faults, after tests were added; each is located by the text of its line. ``noticed_at_first`` keeps
the first outcome. ``without_effect`` is the reason why a fault changes no result, and ``gone``
marks faults whose line has been rewritten.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src/leastcut")
RECORD = ROOT / "benchmarks" / "results" / "faults.json"
PAGE = ROOT / "docs" / "invariants.md"
TABLE = re.compile(r"(<!-- faults -->\n).*?(?=<!-- end of faults -->)", re.DOTALL)
SECONDS_PER_TEST = 120
"""A slower test counts as failed: it does not terminate. Compiling the kernels takes 20 s."""

CORE = {name: (name,) for name in ("kernels", "multilevel", "spectral", "affinity", "problem.py")}
NEWER = {
    "certification": ("bounds", "kernels/star_inequalities.py", "kernels/cheapest_cluster.py"),
    "limits": ("constraints.py",),
    "balance": ("kernels/balance.py", "kernels/exchange.py", "multilevel/repair.py"),
    "flows": ("kernels/flow_refinement.py", "kernels/minimum_cut.py", "multilevel/refinement.py"),
    "links": ("feasibility.py", "reductions.py"),
    "anchors": ("anchors", "kernels/anchors.py"),
    "views": ("multiview", "kernels/view_moves.py"),
    "number of clusters": ("multilevel/number_of_clusters.py", "multilevel/density_gap.py"),
    "k-d tree": ("kernels/tree.py", "affinity/neighbors/tree.py"),
}
TRIALS = {20: CORE, 41: NEWER, 57: NEWER}
"""The groups of files that each seed samples from; a group lists the beginnings of paths."""

SPEED = re.compile(
    r"(BLOCK|BLOCK_EDGES|VISITS_PER_CALL|MOST_THREADS|THREADED_EDGES|SPARE|TREE_\w+|FEW|SIDES"
    r"|MANY_FEATURES|SIDE_FACTOR|WORTHWHILE|PENDING|UNCERTAIN|SPARSE|CACHED|N_STARTS|CG_COST"
    r"|FIRST_(STEPS|SOLVES)|(STEPS|SOLVES|ENTRIES)_PER_\w+|(STEP|SOLVE|FACTOR)_COST_\w+|CutLike)\b"
)
"""Constants that affect the speed but not the result; no faults are inserted into them."""

TESTS = {
    "bounds": "proof_steps recorded_values semidefinite dual_prices exact certify lower_bound",
    "kernels/star_inequalities.py": "proof_steps recorded_values semidefinite certify",
    "kernels/cheapest_cluster.py": "proof_steps recorded_values dual_prices certify",
    "constraints.py": "limits link_references recorded_values balance links certify",
    "feasibility.py": "limits link_references recorded_values balance links",
    "reductions.py": "link_references isolated limits recorded_values links multilevel balance",
    "kernels/balance.py": "limited_kernels recorded_values balance flow_refinement",
    "kernels/exchange.py": "limited_kernels recorded_values links balance flow_refinement",
    "multilevel/repair.py": "limited_kernels recorded_values balance flow_refinement links",
    "kernels/flow_refinement.py": "limited_kernels recorded_values flow_refinement balance",
    "kernels/minimum_cut.py": "limited_kernels recorded_values flow_refinement dual_prices balance",
    "anchors": "anchors recorded_values anchor_storage anchor_folders anchor_estimator anchor_gpu",
    "kernels/anchors.py": "anchor_kernels anchors recorded_values anchor_storage anchor_estimator",
    "multiview": "recorded_values views",
    "kernels/view_moves.py": "recorded_values views",
    "affinity/learned": "learned_graphs",
    "kernels/simplex.py": "learned_graphs",
    "kernels/tree.py": "tree_references tree neighbors",
    "affinity/neighbors/tree.py": "tree_references tree neighbors",
    "kernels/code_cache.py": "code_cache",
    "kernels/__init__.py": "code_cache",
    "kernels/branch_and_bound.py": "exact",
    "kernels/sweep.py": "first_order discretizers direct theorems",
    "sparse_check.py": "malformed",
    "kernels": "refinement budgets multilevel problem",
    "multilevel/exact.py": "exact problem",
    "multilevel/direct_cut.py": "direct problem threads bad_input",
    "multilevel/cut_path.py": "path_references cut_path bad_input",
    "multilevel/path_search.py": "path_references cut_path",
    "multilevel/refinement.py": "refinement budgets problem multilevel limited_kernels"
    " flow_refinement",
    "multilevel/population.py": "population budgets search",
    "multilevel/spectral_start.py": "spectral_start budgets",
    "multilevel/number_of_clusters.py": "number_references path_references number_of_clusters",
    "multilevel/density_gap.py": "number_references number_of_clusters",
    "multilevel": "budgets multilevel problem search",
    "spectral": "relaxation eigensolvers theorems lower_bound",
    "distance_check.py": "affinity_precomputed",
    "affinity/precomputed.py": "affinity_precomputed affinity",
    "affinity": "neighbors affinity predict",
    "problem.py": "cuts problem theorems",
}
"""The tests of a file or folder; the first matching entry counts."""

LEFT_OUT = (
    "not deadline and not interrupt and not time_limit and not nearly_disconnected and not amg"
)
"""Excluded: tests that depend on the speed of the machine, and the slowest tests."""

NONE_COLLECTED = 5
"""The exit code of pytest if no test was selected."""

SOUND: set[str] = set()
"""The entries whose tests passed without a fault, as they must before one is inserted."""

Fault = tuple[str, int, int, str]
"""File, first and last byte to replace, and the replacement."""

OTHER = {
    ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.GtE], ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is], ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.And: [ast.Or],
    ast.Or: [ast.And], ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div],
    ast.Div: [ast.Mult], ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
}  # fmt: skip
"""The operators that may replace an operator."""

NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
UNSEEN = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)
UNSEEN_FIELDS = ("annotation", "returns", "decorator_list")
"""Nodes without faults: error messages, imports and annotations."""


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the faulty variants of a statement or expression."""

    def changed(**fields: Any) -> ast.AST:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from (changed(ops=[op()]) for op in OTHER.get(type(node.ops[0]), []))
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        yield from (changed(op=op()) for op in OTHER.get(type(node.op), []))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            yield changed(left=node.right, right=node.left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield changed(id=NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield changed(attr=NAMES[node.attr])
    elif isinstance(node, ast.Continue | ast.Break):
        yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (ast.Constant(node.value + step) for step in (1, -1))
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield from (ast.Constant(node.value * factor or 1.0) for factor in (2.0, 0.5))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)


def seen(node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yield the nodes of a tree that affect results, each with its faulty variants."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, UNSEEN) or name in UNSEEN_FIELDS:
                continue
            if isinstance(child, ast.Assign) and SPEED.match(ast.unparse(child)):
                continue
            if name == "test":
                yield child, [ast.UnaryOp(ast.Not(), child)]
            yield child, list(variants(child))
            yield from seen(child)


def possible(file: str) -> Iterator[list[Fault]]:
    """Yield the possible faults of each line of a file."""
    source = (ROOT / PACKAGE / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    by_line: dict[int, list[Fault]] = {}
    for node, others in seen(ast.parse(source)):
        for other in others:
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(other)
            text = f"({text})" if isinstance(other, ast.BinOp | ast.BoolOp | ast.UnaryOp) else text
            by_line.setdefault(node.lineno, []).append((file, first, last, text))
    for _, faults in sorted(by_line.items()):
        yield faults


def sampled(seed: int, count: int) -> list[Fault]:
    """Sample faults evenly over the groups of a trial, in a reproducible order."""
    home, queues = ROOT / PACKAGE, []
    everything = sorted(file.relative_to(home).as_posix() for file in home.rglob("*.py"))
    for prefixes in TRIALS[seed].values():
        rng = random.Random(seed)
        names = [name for name in everything if name.startswith(prefixes)]
        lines = [faults for name in names for faults in possible(name)]
        rng.shuffle(lines)
        queues.append([rng.choice(faults) for faults in lines])
    return [queues[i % len(queues)][i // len(queues)] for i in range(count)]


def recorded(row: dict[str, Any]) -> Fault | None:
    """Return the fault of a recorded row in the current source, or None if its text is gone."""
    path, before = ROOT / PACKAGE / row["file"], row["before"].encode()
    source = path.read_bytes() if path.exists() else b""
    places = [match.start() for match in re.finditer(re.escape(before), source)]
    if not places:
        return None
    first = min(places, key=lambda place: abs(source[:place].count(b"\n") + 1 - row["line"]))
    return row["file"], first, first + len(before), row["after"]


def described(fault: Fault) -> tuple[dict[str, Any], bytes]:
    """Return a description of a fault, and the content of the faulty file."""
    file, first, last, text = fault
    source = (ROOT / PACKAGE / file).read_bytes()
    faulty = source[:first] + text.encode() + source[last:]
    # Complete lines without their indentation.
    begin = source.rfind(b"\n", 0, first) + 1
    begin += len(source[begin:]) - len(source[begin:].lstrip(b" "))
    end = source.find(b"\n", last) % (len(source) + 1)
    return {
        "file": file,
        "line": source[:first].count(b"\n") + 1,
        "before": source[begin:end].decode(),
        "after": faulty[begin : end + len(faulty) - len(source)].decode(),
    }, faulty


def home_of(file: str) -> str:
    """Return the entry of ``TESTS`` for a file."""
    return next(home for home in TESTS if file.startswith(home))


RUNS = (("not slow", ""), ("slow or hypothesis", "all"))
"""The marks and the numbers of draws of ``make test`` and ``make test-rest``."""


def failing_test(file: str, work: Path, runs: tuple[tuple[str, str], ...] = RUNS) -> str | None:
    """Return the first failing test of a file, or None."""
    names = TESTS[home_of(file)].split()
    paths = [str(path) for name in names for path in (work / "tests").glob(f"*/test_{name}.py")]
    # Keep compiled code, but not that of faulty kernels, which would replace it.
    cache = "faulty" if file.startswith("kernels") else "compiled"
    environment = {
        **os.environ,
        "PYTHONPATH": str(work / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(work / cache),
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", "-p", "no:randomly"]
    command += ["-k", LEFT_OUT, "-o", f"faulthandler_timeout={SECONDS_PER_TEST}"]
    command += ["-o", "faulthandler_exit_on_timeout=true", *paths, "-m"]
    for marked, draws in runs:
        environment["LEASTCUT_TESTS"] = draws
        run = [*command, marked]
        done = subprocess.run(run, cwd=work, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, NONE_COLLECTED):
            failed = re.search(
                r"^(?:FAILED|ERROR) (?:tests/)?([\w.:/]+)", done.stdout, re.MULTILINE
            )
            return failed[1] if failed else f"no result (exit code {done.returncode})"
    return None


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the numbers of inserted and detected faults by seed and group."""
    counted: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        for place in (row["group"], "all"):
            counts = counted.setdefault(str(row["seed"]), {}).setdefault(
                place,
                {"tried": 0, "without_effect": 0, "gone": 0, "noticed_at_first": 0, "noticed": 0},
            )
            counts["tried"] += 1
            counts["without_effect"] += "without_effect" in row
            counts["gone"] += "gone" in row
            counts["noticed_at_first"] += row["noticed_at_first"]
            counts["noticed"] += row["noticed_by"] is not None
    return counted


def table(counted: dict[str, dict[str, dict[str, int]]]) -> str:
    """Return the counts as a Markdown table, with the detected fraction of effective faults."""
    lines = ["| seed | files | sampled | equivalent | detected at first | detected now |"]
    lines.append("|--:|---|--:|--:|--:|--:|")
    for seed, groups in counted.items():
        for place in (*(name for name in groups if name != "all"), "all"):
            counts = groups[place]
            effective = counts["tried"] - counts["without_effect"]
            still = effective - counts["gone"]
            first, now = (
                f"{number} of {total} ({number / max(total, 1):.0%})"
                for number, total in (
                    (counts["noticed_at_first"], effective),
                    (counts["noticed"], still),
                )
            )
            head = f"{seed} | {place} | {counts['tried']} | {counts['without_effect']}"
            lines.append(f"| {head} | {first} | {now} |")
    return "\n".join(lines) + "\n"


def renewed(page: str, counted: dict[str, dict[str, dict[str, int]]]) -> str:
    """Return the page with its table updated."""
    return TABLE.sub(lambda match: match[1] + table(counted), page)


def run(quick: bool = False) -> dict[str, Any]:
    """Insert the faults and return their outcomes and counts."""
    wanted, again = os.environ.get("LEASTCUT_FAULTS"), "LEASTCUT_AGAIN" in os.environ
    if not (wanted or again or quick):
        print("Set LEASTCUT_FAULTS=SEED:COUNT to sample faults.")
        return {}
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {"result": {"rows": []}}
    rows = known["result"]["rows"]
    tasks: list[tuple[dict[str, Any], Fault | None]] = []
    if again:
        tasks = [
            (row, recorded(row))
            for row in rows
            if row["noticed_by"] is None and "without_effect" not in row
        ]
    else:
        seed, count = map(int, (wanted or f"{next(iter(TRIALS))}:1").split(":"))
        places = {(row["file"], row["line"], row["after"]) for row in rows}
        for fault in sampled(seed, count):
            about, _ = described(fault)
            if (about["file"], about["line"], about["after"]) not in places:
                group = next(g for g, begin in TRIALS[seed].items() if fault[0].startswith(begin))
                tasks.append(({**about, "seed": seed, "group": group}, fault))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        parts = "src", "tests", "reproduction", "benchmarks", "docs", "conftest.py"
        for part in (*parts, "pyproject.toml", "README.md"):
            copy_path = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy_path(ROOT / part, work / part)
        for row, fault in tasks[:1] if quick else tasks:
            if fault is None:
                row["gone"] = True
                continue
            _, faulty = described(fault)
            # The tests must pass without a fault. This run also compiles the kernels once.
            if (home := home_of(row["file"])) not in SOUND:
                if failed := failing_test(row["file"], work, RUNS[:1]):
                    raise RuntimeError(f"{failed} fails without any fault.")
                SOUND.add(home)
            copied, begin = work / PACKAGE / row["file"], time.perf_counter()
            pristine = copied.read_bytes()
            copied.write_bytes(faulty)
            row["noticed_by"] = failing_test(row["file"], work)
            row["seconds"] = round(time.perf_counter() - begin, 1)
            if "noticed_at_first" not in row:
                row["noticed_at_first"] = row["noticed_by"] is not None
                rows.append(row)
            copied.write_bytes(pristine)
            print(json.dumps(row), flush=True)
            known["result"] = {"summary": summary(rows), "rows": rows}
            if not quick:
                RECORD.write_text(json.dumps(known, indent=1) + "\n")
    known["result"] = {"summary": summary(rows), "rows": rows}
    if not quick:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), summary(rows)), encoding="utf-8")
    return known["result"]
