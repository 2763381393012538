"""`python -m bench.pii_sets --out FOLDER --seed N`: writes the sets."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.pii_sets.write import write_sets


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.pii_sets", description="Make annotated sets.")
    parser.add_argument("--out", type=Path, default=Path("build/bench/pii"))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--per-type", type=int, default=60, help="documents for each type and language")
    options = parser.parse_args()
    for path in write_sets(options.out, seed=options.seed, per_type=options.per_type):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
