"""A site's own model that finds names: which files, what its labels mean, how long we wait for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ..domain.entities import EntityType
from .model import Name, SettingsModel


class NameModelSettings(SettingsModel):
    """One model."""

    name: Name
    """What audit records call it; its findings have the rule `MODEL_NAME`, which policy may name."""
    kind: Literal["spacy", "onnx", "gliner", "stanza"]
    """All are folders. spaCy: as `nlp.to_disk` writes it. ONNX: `model.onnx`, a token classifier, `tokenizer.json` and
    `config.json`. GLiNER: `model.onnx`, of spans with one encoder, `tokenizer.json` and `gliner_config.json`. stanza:
    as `stanza.download` lays one language. Only spaCy is among the gateway's packages: see `detect.model_packages`."""
    path: Path
    """A file or a folder."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Of the file; of a folder that of its list of files, see `gateway/detect/models/digest.py`."""
    labels: Annotated[dict[str, EntityType], Field(min_length=1)]
    """What the model calls something -> its kind, such as `{PER: PERSON, ORG: ORG}`. Other labels are left alone. A
    GLiNER model is asked for these very words, such as `{person: PERSON, name of a company: ORG}`."""
    languages: Annotated[list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]], Field(min_length=1)]
    """ISO 639-1. It is asked about requests in these, and policy may accept its finding of names in them."""
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """What the model is less sure of does not count; spaCy and stanza do not say how sure they are. When absent, 0.5
    for GLiNER, as its package has it, and 0 for others."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """For one request, its wait for others included; what takes longer stays on-prem. spaCy's default tagger takes
    16 ms of CPU for 2 KB and 150 ms for 20 KB (measured, spaCy 3.8, 2026-11)."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Requests of one worker that wait for it, the one it reads included; what comes then stays on-prem."""

    @model_validator(mode="after")
    def _is_scored(self) -> NameModelSettings:
        if self.kind in ("spacy", "stanza") and self.min_score is not None:
            raise ValueError(f"min_score: expected none for a {self.kind} model, which gives no scores, got one")
        return self

    @property
    def rule(self) -> str:
        """The rule that its findings carry."""
        return f"MODEL_{self.name.upper().replace('-', '_')}"
