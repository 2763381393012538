"""Container images of an export, by digest only.

    images:
      vllm: registry.bank.example/vllm@sha256:1f0c...

A tag can be moved to another image after the export, so an image without a digest is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file
from sovctl.support.suggestions import nearest

WHAT = "the image table"
HINT = "see docs/export.md"

PURPOSES: Mapping[str, str] = {
    "vllm": "vLLM servers of the pools",
    "gateway": "the gateway of sovctl",
    "gpu-device-plugin": "GPU operator: device plugin",
    "gpu-feature-discovery": "GPU operator: labels of GPU nodes",
    "gpu-operator-validator": "GPU operator: validator of nodes",
    "dcgm-exporter": "GPU operator: metrics of GPUs",
    "mig-manager": "GPU operator: MIG manager",
    "rdma-device-plugin": "network operator: RDMA shared device plugin",
    "ray-llm": "Ray with ray[llm]",
}
"""Known names with their use."""

# Grammar of an image reference: distribution/reference, "reference.go", without tag.
_REFERENCE = re.compile(
    r"(?P<repository>[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+)@(?P<digest>sha256:[0-9a-f]{64})"
)


@dataclass(frozen=True)
class Image:
    """An image by digest.

    Args:
        repository: with registry, such as `registry.bank.example/ai/vllm`.
        digest: `sha256:` and 64 hex digits.
    """

    repository: str
    digest: str

    @property
    def reference(self) -> str:
        """Reference for a container."""
        return f"{self.repository}@{self.digest}"

    def operator_fields(self) -> dict[str, str]:
        """Return the fields of a component of an operator, which joins a digest in `version` with `@`.

        Source: NVIDIA/gpu-operator a22dbf67, internal/image.
        """
        registry, _, name = self.repository.rpartition("/")
        return {"repository": registry, "image": name, "version": self.digest}


def read_images(path: Path, needed: Iterable[str]) -> dict[str, Image]:
    """Return the images of a table by name.

    Args:
        needed: names that the export uses.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the table: unknown or missing names, images without digest.
    """
    text = read_file(path, what=WHAT, hint=HINT)
    if text.problems:
        raise SpecError([text.placed(path, each) for each in text.problems], what=WHAT)
    table = text.value.get("images") if isinstance(text.value, dict) and set(text.value) == {"images"} else None
    if not isinstance(table, dict):
        raise InputError("expected one key `images` with names and references", where=str(path), hint=HINT)
    found: dict[str, Image] = {}
    problems: list[Problem] = []
    for name, reference in table.items():
        where = f"images.{name}"
        if name not in PURPOSES:
            near = nearest(str(name), list(PURPOSES))
            hint = f"did you mean {near}?" if near else f"known: {', '.join(PURPOSES)}"
            problems.append(Problem(f"unknown image {name}", where=where, hint=hint))
        elif not (match := _REFERENCE.fullmatch(str(reference))):
            problems.append(
                Problem(
                    f"expected REGISTRY/NAME@sha256:DIGEST, got {str(reference)!r}",
                    where=where,
                    hint="write the registry, and the digest instead of the tag; `skopeo inspect` prints it",
                )
            )
        else:
            found[name] = Image(match["repository"], match["digest"])
    problems += [
        Problem(f"missing image {name}: {PURPOSES[name]}", where="images", hint=f"add {name} with its digest")
        for name in needed
        if name not in table
    ]
    if problems:
        raise SpecError([text.placed(path, each) for each in problems], what=WHAT)
    return found
