"""What the detector looks for beyond what is the same everywhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from .exact_data_match import ExactDataMatchSettings
from .llm_review import LLM_REVIEW_RULE, LlmReviewSettings
from .model import SettingsModel
from .name_languages import CONTEXT_LANGUAGES, LISTED_LANGUAGES
from .name_model import NameModelSettings


class DetectSettings(SettingsModel):
    """What the detector looks for beyond what is the same everywhere."""

    phone_regions: list[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]] = Field(
        default_factory=lambda: ["AE", "DE", "FR", "GB", "IN", "US"]
    )
    """ISO 3166-1 countries whose national phone formats are recognized; numbers that begin with + always are.
    Each region costs about 0.02 ms per number in the text (measured 2026-11, one core)."""
    exact_data_match: ExactDataMatchSettings | None = None
    """The site's own customers, employees and companies; nobody is listed when absent."""
    models: Annotated[list[NameModelSettings], Field(max_length=16)] = Field(default_factory=list)
    """Models of the site's own that read every request which could leave."""

    model_packages: Path | None = None
    """A folder with the Python packages that models need and the gateway does not bring, as `pip install --target` lays
    them: onnxruntime and tokenizers for `onnx` and `gliner`, stanza for `stanza`. It is code, and runs as the gateway:
    root's alone to write. The gateway's own packages come before it."""
    llm_review: LlmReviewSettings | None = None
    """A model of one of the pools reads requests that could leave and may hold a name that nobody found."""

    @field_validator("models")
    @classmethod
    def _each_name_once(cls, models: list[NameModelSettings]) -> list[NameModelSettings]:
        for name, count in Counter(model.name for model in models).items():
            if count > 1:
                raise ValueError(f"expected every name once, got {name} {count} times")
        return models

    @property
    def slow_rules(self) -> list[str]:
        """Rules of the finders that are asked after the detector."""
        return [*(model.rule for model in self.models), *([LLM_REVIEW_RULE] if self.llm_review else [])]

    @property
    def name_languages(self) -> frozenset[str]:
        """Languages in which the configured finders find names, ISO 639-1."""
        of_models = CONTEXT_LANGUAGES.union(*(model.languages for model in self.models))
        return of_models | LISTED_LANGUAGES if self.exact_data_match else of_models
