"""Settings of the retrieval service, which searches documents with the permissions of the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, Field, field_validator

from .base.model import SettingsModel
from .base.urls import encrypted_or_local


class RetrievalServiceSettings(SettingsModel):
    """The retrieval service of the site. It receives the principal as a signed header (decision 0007)."""

    url: AnyHttpUrl
    """Base URL, such as https://10.77.0.21:8446; http only on loopback."""
    ca_file: Path | None = None
    """CA of its certificate. Default: the system's CAs."""
    certificate_file: Path | None = None
    """Certificate of the gateway for the service. Default: none."""
    key_file: Path | None = None
    """Private key of `certificate_file`."""
    timeout_s: Annotated[float, Field(gt=0, le=120)] = 15.0
    """Seconds for a search, with the embedding of the query. 15: guess, 2026-11."""

    @field_validator("url")
    @classmethod
    def _encrypted_or_local(cls, url: AnyHttpUrl) -> AnyHttpUrl:
        return encrypted_or_local(url)
