"""Run benchmarks and write their results: ``python -m benchmarks [--quick] [NAME ...]``.

Every other file here is one benchmark with a function ``run(quick)`` that returns its rows. The
results go to ``benchmarks/results/NAME.json`` with the versions and the machine they came from.
Some run at other sizes with ``--points N ...`` too.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib import import_module
from pathlib import Path

from reproduction.runs.records import environment

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def main() -> None:
    """Run what the command line names, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes only, nothing written")
    parser.add_argument(
        "--points", type=int, nargs="+", metavar="N", help="sizes to try, nothing written"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        print(f"== {name}", flush=True)
        sizes = {"points": arguments.points} if arguments.points else {}
        result = import_module(f"benchmarks.{name}").run(quick=arguments.quick, **sizes)
        about = {"date": time.strftime("%Y-%m-%d"), **environment()}
        text = json.dumps({**about, "result": result}, indent=1) + "\n"
        print(text, flush=True)
        if result and not arguments.quick and not arguments.points:
            target = HERE / "results" / f"{name}.json"
            target.parent.mkdir(exist_ok=True)
            partial = target.with_suffix(".partial")
            partial.write_text(text)
            partial.replace(target)


if __name__ == "__main__":
    main()
