"""Values that determine the answers of a replica: model, engine, quantization, layout and GPU."""

from __future__ import annotations

import shlex

from ....facts.benchmarks.golden_tokens import Binding
from ....facts.unreadable import Unreadable
from ....resources.software.model import STORE
from ...model.probe_sections import ProbeSections
from ._replicas import Expected

_AS_PUBLISHED = "as published"


def model_command(model: str) -> str:
    """Return the command that prints the digest of the model's manifest."""
    return "sha256sum < " + shlex.quote(f"{STORE}/{model}/MANIFEST")


def binding_commands(model: str) -> dict[str, str]:
    """Return the commands that print the digest of the model's manifest, and the names of the GPUs."""
    return {"model": model_command(model), "gpus": "nvidia-smi --query-gpu=name --format=csv,noheader"}


def model_of(sections: ProbeSections) -> str:
    """Return the SHA-256 of the model's manifest.

    Raises:
        Unreadable: the output contains none.
    """
    digest = sections.text("model").split()
    if len(digest) != 2 or len(digest[0]) != 64:
        raise Unreadable("a SHA-256", sections.text("model"), where="sha256sum")
    return digest[0]


def binding_of(sections: ProbeSections, expected: Expected, version: str) -> Binding:
    """Return the values that determine the answers.

    Args:
        version: of the running server.

    Raises:
        Unreadable: a value is missing.
    """
    model = model_of(sections)
    names = {line.strip() for line in sections.text("gpus").splitlines() if line.strip()}
    if len(names) != 1:
        raise Unreadable("GPUs of one model", ", ".join(sorted(names)) or "none", where="nvidia-smi")
    flags = expected.flags
    cache = flags.get("kv-cache-dtype", _AS_PUBLISHED)
    tensor, pipeline = flags.get("tensor-parallel-size", 1), flags.get("pipeline-parallel-size", 1)
    return Binding(
        model_sha256=model,
        engine_version=version,
        quantization=f"weights {flags.get('quantization', _AS_PUBLISHED)}, KV cache {cache}",
        layout=f"{tensor} tensor, {pipeline} pipeline ranks",
        gpu=names.pop(),
    )
