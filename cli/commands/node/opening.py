"""Arguments of `sovctl node`, and the site that its commands change."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sovctl.engine.checks.runner.node_certificates import Issuer
    from sovctl.engine.lifecycle.operations import Operations

Nodes = Annotated[list[str], typer.Argument(metavar="NODE...", help="Names of nodes.")]
Site = Annotated[Path, typer.Option("--site", help="Path of site.yaml.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, for the history and the ledger.")]
Force = Annotated[bool, typer.Option("--force", help="Permit that no gateway serves afterwards.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")


@contextmanager
def operations_on(site: Path, state: Path | None, purpose: str) -> Iterator[Operations]:
    """Hold the site's lock, and yield the operations on its nodes."""
    from sovctl.engine.lifecycle.operations import Operations
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load

    loaded = load(site)
    paths = SiteState.of_site(site, state)
    platforms = loaded.catalog.platforms
    gpu_nodes = [node.name for group, node in loaded.spec.nodes() if platforms[group.platform].has_gpus]
    with paths.exclusive(f"node {purpose}"):
        yield Operations(loaded.spec, paths.root, gpu_nodes=gpu_nodes)


def issuer_on(site: Path, state: Path | None) -> Issuer:
    """Return the issuer of certificates of a site."""
    from sovctl.engine.checks.runner.node_certificates import issuer_of
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load

    loaded = load(site)
    return issuer_of(loaded.spec, SiteState.of_site(site, state).root, loaded.catalog.platforms)


def print_states(operations: Operations, nodes: list[str]) -> None:
    """Print the states of nodes after an event."""
    for node in nodes:
        output.line(f"{node}: {operations.fleet.state(node)}")
    output.info("no node was changed yet; next: sovctl plan")
