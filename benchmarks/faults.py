"""How many small faults in the core the tests notice: put one in, run the tests, take the next.

``FIRSTCUT_FAULTS=120 python -m benchmarks faults`` puts faults one at a time into a copy of the
source tree and runs the tests that belong to the file, quickest and likeliest first, until one
fails: first the ``NAMED`` faults, then so many that are drawn with a fixed seed, evenly over the
folders and at most one from a line. Without the variable nothing is run.

What is in the results is not tried again, so that trials add up. Only what no test has noticed is,
with ``FIRSTCUT_AGAIN=1``, after a law was written; ``noticed_at_first`` keeps what was before. Who
finds that a fault changes no result writes the reason into its row, as ``without_effect``.
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
PACKAGE = Path("src/firstcut")
RECORD = ROOT / "benchmarks" / "results" / "faults.json"
PAGE = ROOT / "docs" / "laws.md"
TABLE = re.compile(r"(<!-- faults -->\n).*?(?=<!-- end of faults -->)", re.DOTALL)
FOLDERS = ("kernels", "partitioning", "relaxation", "affinity", "cuts.py")
SEED = 20
SECONDS_PER_TEST = 45
"""A test that takes longer has noticed: an endless loop is no answer. Kernels compile in 20 s."""

SPEED = re.compile(
    r"(BLOCK|BLOCK_EDGES|VISITS_PER_CALL|MOST_THREADS|THREADED_EDGES|SPARE|TREE_\w+|FEW|SIDES"
    r"|MANY_FEATURES|SHARE|WORTHWHILE|PENDING|DOUBTFUL|SPARSE|CACHED|N_STARTS|CG_PRICE"
    r"|FIRST_(STEPS|SOLVES)|(STEPS|SOLVES|ENTRIES)_PER_\w+|(STEP|SOLVE|FACTOR)_COST_\w+|CutLike)\b"
)
"""Constants that say how fast an answer comes and not which, so that no fault is put into them."""

TESTS = {
    "kernels/code_cache.py": "code_cache",
    "kernels/__init__.py": "code_cache",
    "kernels/branch_and_bound.py": "exact",
    "kernels/sweep.py": "first_order discretizers direct theorems",
    "kernels": "refinement budgets multilevel problem",
    "partitioning/exact.py": "exact problem",
    "partitioning/direct_cut.py": "direct problem threads bad_input",
    "partitioning/cut_path.py": "cut_path bad_input",
    "partitioning/path_search.py": "cut_path",
    "partitioning/cluster_merging.py": "multilevel estimator",
    "partitioning/refinement.py": "refinement budgets problem multilevel",
    "partitioning/population.py": "population budgets search",
    "partitioning/spectral_start.py": "spectral_start budgets",
    "partitioning/number_of_clusters.py": "number_of_clusters",
    "partitioning/valleys.py": "number_of_clusters",
    "partitioning": "budgets multilevel problem search",
    "relaxation": "relaxation eigensolvers theorems lower_bound",
    "affinity/precomputed.py": "affinity_precomputed affinity",
    "affinity": "neighbors affinity predict",
    "cuts.py": "cuts problem theorems",
}
"""The tests that belong to a file or a folder; the first entry that fits counts."""

LEFT_OUT = "not deadline and not interrupt and not time_limit and not apart and not amg"
"""Tests that depend on the speed of the machine, and the slowest."""

SOUND: set[str] = set()
"""The entries whose tests have passed without a fault, which they must before any is put in."""

NAMED = [
    ("kernels/branch_and_bound.py", "bound * (1.0 - safety)", "bound * (1.0 + safety)"),
    ("kernels/branch_and_bound.py", "boundary[i, k] = 0.0", "boundary[i, k] = boundary[i, 0]"),
    ("kernels/branch_and_bound.py", "boundary[i, k] + added", "boundary[i, k] - added"),
    ("relaxation/solvers/lanczos.py", "residual <= MARGIN * tol", "residual <= MARGIN / tol"),
    ("relaxation/solvers/lanczos.py", "MARGIN * residual <= margin", "residual <= MARGIN * margin"),
    ("relaxation/solvers/lanczos.py", "last * (1.0 + MARGIN * tol)", "last * (1.0 - MARGIN * tol)"),
    ("partitioning/refinement.py", "VISITS_PER_NODE = 20", "VISITS_PER_NODE = 2"),
    ("partitioning/passes.py", "SMALL_NODES = 200, 1000", "SMALL_NODES = 20, 1000"),
    ("partitioning/passes.py", "or n_whole <= SMALL_NODES", "or n_whole <= CLIMB_NODES"),
    ("partitioning/first_stage.py", "FEW_CLUSTERS = 8", "FEW_CLUSTERS = 80"),
    ("partitioning/levels.py", "max(LEAST_NODES * n_clusters", "max(START_NODES * n_clusters"),
    (
        "partitioning/spectral_start.py",
        "float(values[-1]), NARROWEST",
        "float(values[0]), NARROWEST",
    ),
    ("partitioning/spectral_start.py", "if work <= most_work:", "if work >= most_work:"),
    ("partitioning/search.py", "self.work >= self.budget(stage)", "self.work < self.budget(stage)"),
    ("partitioning/passes.py", "PATIENCE = 15", "PATIENCE = 7"),
    ("partitioning/passes.py", "CLIMB_EDGES = 20", "CLIMB_EDGES = 2"),
    ("partitioning/passes.py", "CYCLE_NODES = 4", "CYCLE_NODES = 8"),
    ("partitioning/population.py", "STALE_TASKS = 3 *", "STALE_TASKS = 2 *"),
    ("partitioning/population.py", "STARTS_SHARE = 0.25", "STARTS_SHARE = 0.8"),
    ("partitioning/coarsening/heavy_edges.py", "HEAVIEST = 1.5", "HEAVIEST = 3.0"),
    ("partitioning/coarsening/label_propagation.py", "HEAVIEST = 4.0", "HEAVIEST = 8.0"),
    ("kernels/coarsen.py", "if link[k] > link[best] and", "if link[k] >= link[best] and"),
    ("partitioning/levels.py", "SPENT = 0.95", "SPENT = 0.5"),
]
"""Faults that an earlier trial left unnoticed: margins, running boundaries and budgets."""

Fault = tuple[str, int, int, str]
"""File, first and last byte of what is replaced, and what by."""

OTHER = {
    ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.GtE], ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE], ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is], ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.And: [ast.Or],
    ast.Or: [ast.And], ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div],
    ast.Div: [ast.Mult], ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
}  # fmt: skip
"""What an operator may be mistaken for."""

NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
UNSEEN = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)
UNSEEN_FIELDS = ("annotation", "returns", "decorator_list")
"""What faults are not put into: words of errors, imports, and what nothing computes."""


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a statement or an expression may be mistaken for."""

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
    """Yield the parts of a tree that say what is computed, and what each may be mistaken for."""
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
    """Yield the faults of every line of a file."""
    source = (ROOT / PACKAGE / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[int, list[Fault]] = {}
    for node, others in seen(ast.parse(source)):
        for other in others:
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(other)
            text = f"({text})" if isinstance(other, ast.BinOp | ast.BoolOp | ast.UnaryOp) else text
            found.setdefault(node.lineno, []).append((file, first, last, text))
    for _, faults in sorted(found.items()):
        yield faults


def drawn(count: int) -> list[Fault]:
    """Return faults evenly over the folders and their lines, in an order that does not change."""
    queues = []
    for folder in FOLDERS:
        rng = random.Random(SEED)
        home = ROOT / PACKAGE
        files = [home / folder] if folder.endswith(".py") else sorted((home / folder).rglob("*.py"))
        names = [file.relative_to(home).as_posix() for file in files]
        lines = [faults for name in names for faults in possible(name)]
        rng.shuffle(lines)
        queues.append([rng.choice(faults) for faults in lines])
    return [queues[i % len(queues)][i // len(queues)] for i in range(count)]


def named() -> list[Fault]:
    """Return the faults that are named; each text stands once in its file."""
    found = []
    for file, before, after in NAMED:
        source = (ROOT / PACKAGE / file).read_bytes()
        if source.count(before.encode()) != 1:
            raise ValueError(f"{before!r} stands {source.count(before.encode())} times in {file}.")
        first = source.index(before.encode())
        found.append((file, first, first + len(before.encode()), after))
    return found


def described(fault: Fault) -> tuple[dict[str, Any], bytes]:
    """Return where a fault is and the line before and after it, and the file that has it."""
    file, first, last, text = fault
    source = (ROOT / PACKAGE / file).read_bytes()
    faulty = source[:first] + text.encode() + source[last:]
    number = source[:first].count(b"\n")
    before, after = (code.decode().splitlines()[number].strip() for code in (source, faulty))
    return {"file": file, "line": number + 1, "before": before, "after": after}, faulty


def home_of(file: str) -> str:
    """Return the entry of ``TESTS`` that a file belongs to."""
    return next(home for home in TESTS if file.startswith(home))


def failing_test(file: str, work: Path) -> str | None:
    """Return the first test of those that belong to a file that fails, or None."""
    home = home_of(file)
    # Compiled code is kept, but not that of faults, which would replace it.
    cache = "faulty" if file.startswith("kernels") else "compiled"
    environment = {
        **os.environ,
        "PYTHONPATH": str(work / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(work / cache),
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", "-p", "no:randomly"]
    command += ["-k", LEFT_OUT, "-o", f"faulthandler_timeout={SECONDS_PER_TEST}"]
    command += ["-o", "faulthandler_exit_on_timeout=true"]
    command += [f"tests/test_{name}.py" for name in TESTS[home].split()]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (?:tests/)?([\w.:/]+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else f"no end, or no beginning (exit code {done.returncode})"


def summary(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many faults were tried and noticed, by folder, named ones apart."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        folder = "named" if row["named"] else row["file"].split("/")[0]
        for place in (folder, "drawn") if not row["named"] else (folder,):
            counts = found.setdefault(
                place, {"tried": 0, "without_effect": 0, "noticed_at_first": 0, "noticed": 0}
            )
            counts["tried"] += 1
            counts["without_effect"] += "without_effect" in row
            counts["noticed_at_first"] += row["noticed_at_first"]
            counts["noticed"] += row["noticed_by"] is not None
    return found


def table(counted: dict[str, dict[str, int]]) -> str:
    """Return the counts as Markdown: of the faults that change a result, how many are noticed."""
    lines = ["| faults in | tried | change no result | noticed at first | noticed now | of |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for place in (*FOLDERS, "drawn", "named"):
        counts = counted[place]
        effective = counts["tried"] - counts["without_effect"]
        first, now = counts["noticed_at_first"], counts["noticed"]
        name = {"drawn": "all of these", "named": "faults of an earlier trial"}.get(place, place)
        numbers = f"{counts['tried']} | {counts['without_effect']} | {first} | {now} | {effective}"
        lines.append(f"| {name} | {numbers} ({now / effective:.0%}) |")
    return "\n".join(lines) + "\n"


def renewed(page: str, counted: dict[str, dict[str, int]]) -> str:
    """Return the page with the table of what was noticed."""
    return TABLE.sub(lambda found: found[1] + table(counted), page)


def run(quick: bool = False) -> dict[str, Any]:
    """Return what became of every fault, and how many were noticed."""
    count = 1 if quick else int(os.environ.get("FIRSTCUT_FAULTS", 0))
    if count == 0:
        print("FIRSTCUT_FAULTS says how many faults to draw.")
        return {}
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {"result": {"rows": []}}
    rows = known["result"]["rows"]
    places = {(row["file"], row["line"], row["after"]): row for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for part in ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md"):
            whole = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            whole(ROOT / part, work / part)
        faults = [
            *((fault, True) for fault in named()),
            *((fault, False) for fault in drawn(count)),
        ]
        for fault, is_named in faults[:1] if quick else faults:
            about, faulty = described(fault)
            row = places.get((about["file"], about["line"], about["after"]))
            if row is None:
                row = {**about, "named": is_named}
                rows.append(row)
            elif row["noticed_by"] or "without_effect" in row or "FIRSTCUT_AGAIN" not in os.environ:
                continue
            # Without the fault nothing may fail; and what is compiled now is there for all faults.
            if (home := home_of(about["file"])) not in SOUND:
                if failed := failing_test(about["file"], work):
                    raise RuntimeError(f"Without any fault, {failed} fails.")
                SOUND.add(home)
            copied, begin = work / PACKAGE / about["file"], time.perf_counter()
            copied.write_bytes(faulty)
            row["noticed_by"] = failing_test(about["file"], work)
            row["seconds"] = round(time.perf_counter() - begin, 1)
            row.setdefault("noticed_at_first", row["noticed_by"] is not None)
            shutil.copy2(ROOT / PACKAGE / about["file"], copied)
            print(json.dumps(row), flush=True)
            known["result"] = {"summary": summary(rows), "rows": rows}
            if not quick:
                RECORD.write_text(json.dumps(known, indent=1) + "\n")
    known["result"] = {"summary": summary(rows), "rows": rows}
    if not quick:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), summary(rows)), encoding="utf-8")
    return known["result"]
