"""The APIs that the gateway speaks, a module each: `SURFACES` has them by the path at which clients reach them."""

from collections.abc import Mapping

from sovctl.gateway.surfaces.chat import ChatCompletions
from sovctl.gateway.surfaces.surface import EventStream, Restoration, Surface

SURFACES: Mapping[str, Surface] = {f"/v1/{surface.path}": surface for surface in (ChatCompletions(),)}

__all__ = ["SURFACES", "EventStream", "Restoration", "Surface"]
