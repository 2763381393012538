"""Settings of a site-specific model that finds names: files, labels and timeout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from ...domain.entities import TEXT_TYPES, EntityType
from ..base.model import Name, SettingsModel


class NameModelSettings(SettingsModel):
    """A site-specific model that finds names."""

    name: Name
    """Name in audit records; its findings have the rule `MODEL_NAME`, which policy rules may use."""
    kind: Literal["spacy", "onnx", "gliner", "stanza"]
    """Type of the model folder. spaCy: output of `nlp.to_disk`. ONNX: `model.onnx` (token classifier), `tokenizer.json`
    and `config.json`. GLiNER: `model.onnx` (span model with one encoder), `tokenizer.json` and `gliner_config.json`.
    stanza: one language of `stanza.download`. All but spaCy need `detect.model_packages`."""
    path: Path
    """Path of a file or folder."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the file; for a folder, of its list of files, see `gateway/detect/models/digest.py`."""
    labels: Annotated[dict[str, EntityType], Field(min_length=1)]
    """Entity type by label of the model, such as `{PER: PERSON, ORG: ORG}`; other labels are ignored. For GLiNER, the
    label is the prompt, such as `{person: PERSON, name of a company: ORG}`."""
    languages: Annotated[list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]], Field(min_length=1)]
    """Languages of requests that the model scans, ISO 639-1; `policy.name_languages` may contain them."""
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """Minimum score of findings; not for spaCy and stanza, which return no scores. Default: 0.5 for GLiNER (its
    package's default), 0 for ONNX."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds for one request, including queueing. After the timeout, the request is processed on-prem. spaCy's default
    tagger takes 16 ms of CPU for 2 KB and 150 ms for 20 KB (measured, spaCy 3.8, 2026-11)."""
    max_queue: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Maximum queued and running requests per worker; further requests are processed on-prem."""

    @field_validator("labels")
    @classmethod
    def _check_labels(cls, labels: dict[str, EntityType]) -> dict[str, EntityType]:
        for label, entity_type in labels.items():
            if entity_type not in TEXT_TYPES:
                raise ValueError(f"expected an entity type that a model finds, got {entity_type} for {label}")
        return labels

    @model_validator(mode="after")
    def _check_min_score(self) -> NameModelSettings:
        if self.kind in ("spacy", "stanza") and self.min_score is not None:
            raise ValueError(f"min_score: expected none for a {self.kind} model, which gives no scores, got one")
        return self

    @property
    def rule(self) -> str:
        """Rule of its findings."""
        return f"MODEL_{self.name.upper().replace('-', '_')}"
