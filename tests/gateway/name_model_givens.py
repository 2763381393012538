"""A real spaCy pipeline of a rule or two, on the disk, and the settings that name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy

from sovctl.gateway.detect.models.digest import sha256_of

UNCUED, OTHER = (
    "Тәжібала Қоңырбай",
    "Ерлан Бақытжанов",
)  # invented; the first has no cue
KAZAKH = f"Құрметті әріптестер, {UNCUED} бүгін банкке келіп, жаңа несие туралы өтініш берді және жауап күтіп отыр."


def save_pipeline(folder: Path, *names: str, label: str = "PER") -> Path:
    """A pipeline that knows these names by heart."""
    pipeline = spacy.blank("xx")
    ruler: Any = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": name} for name in names])
    pipeline.to_disk(folder)
    return folder


def model_settings(path: Path, **changes: Any) -> dict[str, Any]:
    """An entry of `detect.models`."""
    return {
        "name": "kk-names",
        "kind": "spacy",
        "path": str(path),
        "sha256": sha256_of(path),
        "labels": {"PER": "PERSON"},
        "languages": ["kk"],
        **changes,
    }
