"""Compares the TP and PP of MLPerf submissions with the choice of `engine/sizing/pool/parallelism.py`.

    choices = read_choices(Path("validation_parallelism.csv"))
    choices[0].theirs, choices[0].ours, choices[0].agrees

A choice agrees if both replicas have the same number of GPUs: TP4 x PP2 and TP8 cost the same.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.sized.limits import ITL_LIMITS_S
from bench.sized.rows import MLPERF, gpu_named
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.pool.parallelism import Objective, ParallelLayout, best, parallel_layouts

_ACCELERATORS = {
    "NVIDIA B200-SXM-180GB": "B200",
    "NVIDIA GB200": "GB200",
    "NVIDIA GB300": "GB300",
    "NVIDIA H200-SXM-141GB": "H200",
    "Virtualized NVIDIA H200-SXM-141GB": "H200",
    "NVIDIA H100-SXM-80GB": "H100",
    "NVIDIA H100-NVL-94GB": "H100-NVL",
    "NVIDIA H200-NVL-141GB": "H200-NVL",
    "NVIDIA L40S": "L40S",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000",
}
_AS_MEASURED = {"llama2-70b": "llama-2-70b", "llama3.1-405b": "llama-3.1-405b", "llama3.1-8b": "llama-3.1-8b"} | {
    name: name for name in ("deepseek-r1", "mixtral-8x7b")
}
_MODELS = {
    "llama2-70b": "llama-3.1-70b",  # the same shape except the vocabulary
    "llama3.1-405b": "llama-3.1-405b",
    "llama3.1-8b": "llama-3.1-8b",
    "deepseek-r1": "deepseek-r1",
    "mixtral-8x7b": "mixtral-8x7b",
}
# Mean tokens in and out of each task, from the rows of validation_public.csv.
_LENGTHS = {
    "llama2-70b": (222, 293),
    "llama3.1-405b": (9428, 654),
    "llama3.1-8b": (870, 129),
    "deepseek-r1": (804, 3744),
    "mixtral-8x7b": (330, 145),
}
_VLLM = "0.32.0"


@dataclass(frozen=True)
class Choice:
    """The choice of one submission, and that of sovctl."""

    task: str
    """Model, accelerator, GPUs, scenario and precision."""
    theirs: tuple[int, int]
    """Tensor and pipeline parallel size."""
    ours: ParallelLayout | None

    @property
    def agrees(self) -> bool:
        """Whether both replicas have the same number of GPUs."""
        return self.ours is not None and self.ours.gpus == self.theirs[0] * self.theirs[1]

    def __str__(self) -> str:
        layout = self.ours
        got = f"TP{layout.tensor_parallel_size} PP{layout.pipeline_parallel_size}" if layout else "none"
        return f"{self.task}: submitted TP{self.theirs[0]} PP{self.theirs[1]}, chosen {got}"


def read_choices(path: Path) -> list[Choice]:
    """Return every choice of a file whose accelerator is in the catalogue."""
    with path.open(newline="") as file:
        return [choice for line in csv.DictReader(file) if (choice := _choice(line))]


def _choice(line: Mapping[str, str]) -> Choice | None:
    name = _ACCELERATORS.get(line["accelerator"])
    gpu = gpu_named(name) if name else None
    if gpu is None or name is None:
        return None
    model, scenario, gpus = line["model"], line["scenario"], int(line["gpus"])
    input_tokens, output_tokens = _LENGTHS[model]
    layouts = parallel_layouts(
        load_models()[_MODELS[model]],
        gpu,
        precision=Precision.NVFP4 if line["precision"] == "fp4" else Precision.FP8,
        gpus=gpus,
        objective=Objective(
            input_tokens, output_tokens, ITL_LIMITS_S.get((_AS_MEASURED[model], f"mlperf_{scenario.lower()}"))
        ),
        engine_version=_VLLM,
        link_domain=72 if name.startswith("GB") else 8,
        kv_cache_dtype_bytes=1,
        engine=MLPERF,
    )
    task = f"{model} {line['precision']} on {gpus} x {name}, {scenario}"
    return Choice(task, (int(line["tp"]), int(float(line["pp"]))), best(layouts))
