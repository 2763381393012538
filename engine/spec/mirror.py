"""`mirror` of `site.yaml`: nodes that serve the files of an imported bundle."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .types import FilePath, Name, SpecModel


class SiteMirror(SpecModel):
    """Mirror of packages, wheels and models on nodes of the site, over TLS. The URLs of `artifacts` begin with
    `https://ADDRESS:PORT/current/` of its first node; nodes use the selected snapshot, and another mirror node if one
    does not answer."""

    nodes: Annotated[list[Name], Field(min_length=1, max_length=8)]
    """Nodes without GPUs, gateway and pools, in order of preference. They change before all other nodes."""
    store: FilePath
    """Store of `sovctl import` on the controller, relative to site.yaml."""
    port: Annotated[int, Field(ge=1024, le=65535)] = 8444
    """TCP port of the mirror. Only nodes of the site can connect."""
