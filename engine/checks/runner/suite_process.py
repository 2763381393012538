"""Program of a `Worker`: imports what the suite uses, reads options of pytest on standard input, and runs them.

Not `pytest_plugin`, which pytest imports itself.
"""

from __future__ import annotations

import json
import os
import sys

import pytest

from . import build_context, observer, targets  # noqa: F401 - imported before the options are known


def main() -> int:
    """Return the exit code of pytest; 0 without options, if the process that started this one has ended."""
    line = sys.stdin.readline()
    if not line:
        return 0
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return int(pytest.main(json.loads(line)))


if __name__ == "__main__":
    sys.exit(main())
