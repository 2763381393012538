"""Runs aiconfigurator in its own environment: questions as JSON on standard input, answers as JSON lines."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import sys
from typing import Any


def main() -> None:
    """Answer all questions; a rejected question gets the start of the error message."""
    logging.disable(logging.CRITICAL)
    estimate = importlib.import_module("aiconfigurator.cli.api").cli_estimate
    for question in json.load(sys.stdin):
        with contextlib.redirect_stdout(io.StringIO()):
            answer = _answer(estimate, question)
        print(json.dumps(answer), flush=True)


def _answer(estimate: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        found = estimate(**question)
        return {
            "tokens_per_s": float(found.raw["tokens/s"]),
            "ttft_ms": float(found.ttft),
            "tpot_ms": float(found.tpot),
        }
    except Exception as error:  # noqa: BLE001 - any error excludes the row
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"}


if __name__ == "__main__":
    main()
