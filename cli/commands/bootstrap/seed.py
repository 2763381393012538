"""`sovctl bootstrap seed`: files for an unattended installation of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ... import output
from ...observing import State

Nodes = Annotated[list[str], typer.Argument(metavar="NODE...", help="Names of nodes in site.yaml.")]
SiteOption = Annotated[Path, typer.Option("--site", help="Path of site.yaml.")]


def register(bootstrap: typer.Typer) -> None:
    """Add the commands to `sovctl bootstrap`."""
    group = typer.Typer(no_args_is_help=True, help="Files for an unattended installation of nodes.")
    bootstrap.add_typer(group, name="seed")
    group.command(epilog="Example: sovctl bootstrap seed write dgx-1 dgx-2 --settings seeds.yaml")(write)
    group.command(epilog="Example: sovctl bootstrap seed erase dgx-1")(erase)


def write(
    nodes: Nodes,
    settings: Annotated[Path, typer.Option(help="YAML file with installer, network and disk of each node.")],
    site: SiteOption = Path("site.yaml"),
    state: State = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write the seed of each node with a new host key, for a medium that the installer reads.

    Each folder contains a private key: one medium for one node, and erase it after the first contact.
    """
    from sovctl.engine.bootstrap import seed_settings, seeds
    from sovctl.engine.bootstrap.enrolment import node_of
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    chosen, loaded = [node_of(opened, name) for name in nodes], seed_settings.load(settings, opened.spec)
    with opened.state.exclusive("bootstrap seed write"):
        written = [seeds.write(opened, node, loaded, settings.resolve().parent) for node in chosen]
    if as_json:
        output.document({"seeds": [{**vars(each), "folder": str(each.folder)} for each in written]})
        return
    for each in written:
        output.line(f"{each.node}: {each.folder}  label {each.label}  host key {each.fingerprint}")
        state_words = f"validated by {each.validated_by}" if each.validated_by else "not validated: no validator here"
        output.info(f"{each.node}: {state_words}")


def erase(nodes: Nodes, site: SiteOption = Path("site.yaml"), state: State = None) -> None:
    """Delete the private host keys and passphrases of seeds. The public host keys stay.

    Media that you wrote have copies: erase or destroy them too.
    """
    from sovctl.engine.bootstrap import seeds
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    for name in nodes:
        seeds.host_key(opened, name)
    with opened.state.exclusive("bootstrap seed erase"):
        for name in nodes:
            output.line(f"{name}: {'erased' if seeds.erase(opened, name) else 'already erased'}")
