"""Settings of traces for the site's OpenTelemetry collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, Field, field_validator

from .base.model import SettingsModel
from .base.urls import encrypted_or_local


class TracingSettings(SettingsModel):
    """Traces of requests as OTLP over HTTP, without text of requests."""

    endpoint: AnyHttpUrl
    """URL of the collector, such as https://10.77.0.40:4318/v1/traces; http only on loopback."""
    ca_file: Path | None = None
    """CA of the collector's certificate. Default: the system's CAs."""
    sample_ratio: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Fraction of requests that are traced, selected by trace id, as other components with the same ratio select them.
    0.01: guess, 2026-11."""

    @field_validator("endpoint")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)
