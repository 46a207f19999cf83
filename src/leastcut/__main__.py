"""Run the command line interface with ``python -m leastcut``."""

import sys

from leastcut.cli import main

if __name__ == "__main__":
    sys.exit(main())
