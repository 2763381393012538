"""Settings of site-specific detection, in addition to the built-in detection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints, field_validator, model_validator

from ..base.model import SettingsModel
from .exact_data_match import ExactDataMatchSettings
from .llm_review import LLM_REVIEW_RULE, LlmReviewSettings
from .name_languages import CONTEXT_LANGUAGES, LISTED_LANGUAGES
from .name_model import NameModelSettings
from .recognizer import RecognizerPaths, RecognizerSettings
from .screen import ScreenSettings

_Named = TypeVar("_Named", NameModelSettings, ScreenSettings)


class DetectSettings(SettingsModel):
    """Site-specific detection, in addition to the built-in detection."""

    phone_regions: list[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]] = Field(
        default_factory=lambda: ["AE", "DE", "FR", "GB", "IN", "US"]
    )
    """ISO 3166-1 countries whose national phone formats are recognized; numbers that begin with + are always
    recognized. Each region costs about 0.02 ms per number in the text (measured 2026-11, one core)."""
    exact_data_match: ExactDataMatchSettings | None = None
    """Index of known customers, employees and companies. Default: none."""
    recognizers: Annotated[list[RecognizerSettings], Field(max_length=200)] = Field(default_factory=list)
    """Site-specific recognizers: patterns, context words and checksums."""
    recognizer_files: RecognizerPaths = Field(default_factory=list)
    """YAML files with further recognizers, under the key `recognizers`. They are checked once a second, and reloaded
    on change."""
    models: Annotated[list[NameModelSettings], Field(max_length=16)] = Field(default_factory=list)
    """Site-specific models that scan every request that could be sent to a cloud."""

    screens: Annotated[list[ScreenSettings], Field(max_length=16)] = Field(default_factory=list)
    """Local models that classify texts of requests, for example as prompt injections. Default: none."""

    model_packages: Path | None = None
    """Folder with Python packages for models, created by `pip install --target`: onnxruntime and tokenizers for `onnx`
    and `gliner`, stanza for `stanza`. The gateway executes its code, so only root may write it. The gateway's own
    packages take precedence."""
    llm_review: LlmReviewSettings | None = None
    """Review of requests by a chat model in one of the pools. Default: none."""

    @field_validator("models", "screens")
    @classmethod
    def _check_names(cls, models: list[_Named]) -> list[_Named]:
        for name, count in Counter(model.name for model in models).items():
            if count > 1:
                raise ValueError(f"names must be unique, got {name} {count} times")
        return models

    @model_validator(mode="after")
    def _check_screens(self) -> DetectSettings:
        taken = {LLM_REVIEW_RULE.lower().replace("_", "-"), *(model.name for model in self.models)}
        if both := sorted(taken.intersection(screen.name for screen in self.screens)):
            raise ValueError(f"screens: expected names that no model has, got {', '.join(both)}")
        return self

    @property
    def model_finder_rules(self) -> list[str]:
        """Rules of the model finders, which run after the detector."""
        return [*(model.rule for model in self.models), *([LLM_REVIEW_RULE] if self.llm_review else [])]

    @property
    def name_languages(self) -> frozenset[str]:
        """Languages in which the configured finders detect names, ISO 639-1."""
        of_models = CONTEXT_LANGUAGES.union(*(model.languages for model in self.models))
        return of_models | LISTED_LANGUAGES if self.exact_data_match else of_models
