"""The table of start times has the figures of the logs of vLLM 0.26.0 on an H100."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from sovctl.engine.catalog.start_times import StartClass, load_start_times

LOGS = Path(__file__).resolve().parents[3].parent / "shared/fixtures/vllm-log"
CASES: list[tuple[str, StartClass]] = [
    ("llama-3.1-8b_bf16", "dense"),
    ("qwen3-30b-a3b_bf16", "experts"),
    ("gpt-oss-20b_mxfp4", "mxfp4"),
    ("qwen3-32b_fp8", "fp8"),
]


def _at(text: str, words: str) -> datetime:
    found = re.search(rf"INFO (\d\d-\d\d \d\d:\d\d:\d\d) .*{words}", text)
    assert found is not None, words
    return datetime.strptime(f"2026-{found[1]}+0000", "%Y-%m-%d %H:%M:%S%z")


@pytest.mark.shared
@pytest.mark.skipif(not LOGS.exists(), reason="the logs are not at hand")
@pytest.mark.parametrize(("name", "model_class"), CASES)
def test_phases_are_those_of_the_log(name: str, model_class: StartClass) -> None:
    text = (LOGS / f"h100_0.26.0_{name}.log").read_text()
    phases = {each.name: each for each in load_start_times().phases_of(model_class)}
    compiled_s = (_at(text, "GPU KV cache size") - _at(text, "Model loading took")).total_seconds()
    assert phases["compile"].low_s <= compiled_s <= phases["compile"].high_s
    captured = re.search(r"Graph capturing finished in (\d+) secs", text)
    if captured is None:  # the log of block FP8 ends before
        assert phases["CUDA graphs"].kind == "guess"
    else:
        assert phases["CUDA graphs"].low_s <= int(captured[1]) <= phases["CUDA graphs"].high_s
