"""Prints the waves of a plan: nodes, estimated minutes, and the services that lose capacity."""

from __future__ import annotations

from sovctl.engine.plan.serving import GATEWAYS
from sovctl.engine.plan.waves import Wave, downtime

from .. import output
from .node_names import fold

_SHOWN_NODES = 8
"""Largest number of nodes whose names the route of a plan shows."""


def show_waves(waves: tuple[Wave, ...]) -> None:
    """Print one line per wave, then the downtime that `sovctl apply` needs consent for."""
    for wave in waves:
        services = "; ".join(map(str, wave.capacity)) or "no server is interrupted"
        output.line(f"{wave.name}: {fold(wave.nodes)}; about {max(1, round(wave.minutes))} min; {services}")
    for name, found in downtime(waves).items():
        noun = "the gateways go" if name == GATEWAYS else f"pool {name} goes"
        _, capacity = found[0]
        text = f"downtime: {noun} below min_serving in {', '.join(wave for wave, _ in found)}: {capacity}"
        output.line(output.style(f"{text}; consent: sovctl apply --allow-downtime {name}", "yellow"))


def route(waves: tuple[Wave, ...]) -> str:
    """Return the nodes of the waves in order, or their number if the nodes do not fit a line."""
    nodes = sum(len(wave.nodes) for wave in waves)
    if nodes > _SHOWN_NODES:
        return f"{len(waves)} waves over {nodes} nodes"
    return f"waves: {' -> '.join('+'.join(wave.nodes) for wave in waves)}"
