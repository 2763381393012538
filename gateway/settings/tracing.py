"""Where traces go: an OpenTelemetry collector of the site's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, Field, field_validator

from .model import SettingsModel, encrypted_or_local


class TracingSettings(SettingsModel):
    """Traces of requests without a word of their text, as OTLP over HTTP."""

    endpoint: AnyHttpUrl
    """The whole address, such as https://10.77.0.40:4318/v1/traces; plain http only to this machine itself."""
    ca_file: Path | None = None
    """Authority of the collector's certificate; the system's when absent."""
    sample_ratio: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Share of requests that are traced, by their trace id, so that whoever else goes by it traces the same ones. 0.01:
    guess, 2026-11."""

    @field_validator("endpoint")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)
