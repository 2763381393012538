"""The cases of every check, by check id: one module per topic in `check_cases`."""

from __future__ import annotations

import importlib

from check_cases.case import Sample

from sovctl.engine.checks.registry import TOPICS

SAMPLES: dict[str, Sample] = {
    check_id: sample
    for topic in TOPICS
    for check_id, sample in importlib.import_module(f"check_cases.{topic}").SAMPLES.items()
}
