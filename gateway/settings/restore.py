"""Where values may be put back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from .model import SettingsModel

HostName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$")
]


class RestoreSettings(SettingsModel):
    """Where values may be put back."""

    link_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Hosts, whole and in lower case, in whose https links values may stand, percent-encoded; in all other links an
    answer keeps its tokens. Only hosts of the site's own: whoever runs one can read the values in its log."""
