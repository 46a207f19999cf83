"""``python -m leastcut.cli``: the command line."""

import sys

from leastcut.cli import main

if __name__ == "__main__":
    sys.exit(main())
