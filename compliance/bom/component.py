"""A component of a bill of materials. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class ComponentKind(StrEnum):
    """Component types of CycloneDX 1.6 that sovctl writes."""

    LIBRARY = "library"
    MODEL = "machine-learning-model"
    FILE = "file"
    OPERATING_SYSTEM = "operating-system"


@dataclass(frozen=True)
class Component:
    """One component.

    Args:
        ref: unique in the bill of materials.
        purl: package URL; empty without one.
        sha256: digests of its only file; empty if several files are permitted or the digest is unknown.
        permitted_sha256: digests of files, one of which is installed.
        spdx: SPDX expression of its licence; empty if unknown.
        licence: name of a licence without an SPDX id; empty if unknown.
        source: URL or path of its files; empty if unknown.
        properties: further statements by name; `sovctl:` is added in front.
        card: the `modelCard` of a model.
    """

    kind: ComponentKind
    ref: str
    name: str
    version: str = ""
    purl: str = ""
    sha256: str = ""
    permitted_sha256: tuple[str, ...] = ()
    spdx: str = ""
    licence: str = ""
    source: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    card: ModelCard | None = None
    parts: tuple[Component, ...] = ()


@dataclass(frozen=True)
class ModelCard:
    """Statements about a model; empty values are unknown and not written.

    Args:
        limits: technical limits.
        considerations: ethical considerations: name and mitigation.
    """

    task: str = ""
    architecture: str = ""
    use_cases: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    considerations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Bill:
    """A bill of materials.

    Args:
        incomplete: reasons why components are missing; empty if every source was read.
    """

    site: str
    tool_version: str
    components: tuple[Component, ...]
    simulated: bool
    incomplete: tuple[str, ...] = field(default=())
