"""Settings of restoring tokens in answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..base.model import SettingsModel
from ..base.urls import HostName


class RestoreSettings(SettingsModel):
    """Places in an answer where tokens are replaced by their values."""

    link_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Complete host names in lower case. In https links to them, tokens are replaced by percent-encoded values; in all
    other links they are not. Use hosts of the site only, because a host's operator can read the values in its log."""
