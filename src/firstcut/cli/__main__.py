"""``python -m firstcut.cli``: the command line."""

import sys

from firstcut.cli import main

if __name__ == "__main__":
    sys.exit(main())
