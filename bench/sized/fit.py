"""Fits the constants of the performance model over published measurements, and writes them with their bands.

    python -m bench.sized.fit --data FILE.csv [--write]

About a minute of one core, most of it for the bands, which need fits that have not seen a GPU, a model or a pair.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

from bench.sized.constants import CONSTANTS, START, fit, reader
from bench.sized.errors import foretold, table
from bench.sized.left_out import bands_by_evidence
from bench.sized.rows import Row, alike, read_rows

_FILE = Path(__file__).resolve().parents[2] / "engine/catalog/calibration.yaml"


def main() -> None:
    """Fit, say how good it is, write when asked to."""
    parser = argparse.ArgumentParser(description="Fit the constants of the performance model.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write engine/catalog/calibration.yaml")
    options = parser.parse_args()
    rows, unknown = read_rows(options.data)
    print(f"{len(rows)} rows, {sum(unknown.values())} left out")
    fitted = fit(rows, START)
    print(table(foretold(rows, reader(fitted))))
    if options.write:
        _write(options.data, rows, fitted)


def _write(data: Path, rows: Sequence[Row], fitted: Sequence[float]) -> None:
    constant = reader(fitted)
    content = {
        "made_by": "bench/sized/fit.py",
        "source": f"published measurements, {data.name}: MLPerf v5.1 and v6.0, TensorRT-LLM, NIM, vLLM, SGLang",
        "date": datetime.now(UTC).date(),
        "rows": len(rows),
        "constants": {
            name: {"value": float(f"{constant(name):.4g}"), "unit": unit, "about": about}
            for name, (_, _, _, unit, about) in CONSTANTS.items()
        },
        "measured": {
            gpu: sorted({model for row in rows if row.replica.gpu.id == gpu for model in alike(row)})
            for gpu in sorted({row.replica.gpu.id for row in rows})
        },
        "bands": {
            evidence.value: {
                regime: {name: band.model_dump() for name, band in by_name.items()}
                for regime, by_name in by_regime.items()
            }
            for evidence, by_regime in bands_by_evidence(rows, fitted).items()
        },
    }
    _FILE.write_text(
        "# Made by bench/sized/fit.py; edit that, not this. See engine/sizing/performance/calibration.py.\n"
        + yaml.safe_dump(content, sort_keys=False, width=120)
    )


if __name__ == "__main__":
    main()
