"""`sovctl inventory`: status of the nodes of a closed site, for a lock that is computed outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output
from ..observing import DEFAULT, SiteFile, State

if TYPE_CHECKING:
    from sovctl.engine.lock.inventory import SiteInventory

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Status of the nodes of a closed site, for `sovctl lock`.")
    app.add_typer(group, name="inventory")
    group.command(epilog="Example: sovctl inventory collect site.yaml")(collect)
    group.command(epilog="Example: sovctl inventory export site.yaml --sign site.key -o inventory.json --pseudonyms")(
        export
    )
    group.command(epilog="Example: sovctl inventory verify inventory.json --key site.vkey")(verify)


def collect(site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> int:
    """Read the status of every node over ssh, and store it in the state folder. Nothing is written on a node.

    Needs no role on the nodes: python3, ssh and sudo only. Exit code 4 if a node does not answer.
    """
    from sovctl.engine.gather.gather import gather
    from sovctl.engine.lock import inventory
    from sovctl.engine.lock.collect import inventory_of, requests
    from sovctl.engine.site.network_namespace import enter
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    enter(opened.spec.access.network_namespace)
    wanted = requests(opened.spec)
    found = inventory_of(opened.spec, gather(opened.spec, opened.folder, wanted, report=output.progress))
    output.progress_done()
    path = opened.state.prepare().inventory_file
    inventory.save(found, path)
    _show(found, as_json=as_json)
    output.info(f"stored {path}")
    return ExitCode.UNREACHABLE if found.not_measured else ExitCode.OK


def export(
    file: Annotated[Path, typer.Option("-o", "--output", help="File to write.")],
    sign: Annotated[Path, typer.Option(help="Private key of the site's inventory, mode 0600; created if absent.")],
    site: SiteFile = DEFAULT,
    state: State = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Replace names of nodes, their addresses, and hosts of repositories.")
    ] = False,
) -> None:
    """Write the collected status as one signed JSON file, and print what leaves the site.

    A new key gets a .vkey file next to it, which `sovctl lock --inventory-key` needs outside.
    """
    from sovctl.compliance.signing import load_or_create
    from sovctl.engine.lock import inventory
    from sovctl.engine.lock.leaving import with_pseudonyms, words_of
    from sovctl.engine.site.site import Site
    from sovctl.support.atomic_files import write_atomic

    opened = Site.open(site, state=state, touches_nodes=False)
    found = inventory.load(opened.state.inventory_file)
    found = with_pseudonyms(found, opened.spec) if pseudonyms else found
    is_new = not sign.exists()
    key = load_or_create(sign)
    if is_new:
        vkey = sign.with_suffix(".vkey")
        write_atomic(vkey, key.public.vkey(found.site) + "\n")
        output.info(f"created {sign} and {vkey}; carry the .vkey file out on a second way")
    inventory.write_signed(found, file, key)
    output.line(f"leaves the site in {file}:")
    for words in words_of(found):
        output.line(f"- {words}")


def verify(
    file: Annotated[Path, typer.Argument(help="File of `sovctl inventory export`.")],
    key: Annotated[Path, typer.Option(help="Public key (.vkey) of the site.")],
    as_json: AsJson = False,
) -> None:
    """Verify the signature of an exported status, and show its nodes. Exit code 3 if it is unsigned or altered."""
    from sovctl.engine.lock.inventory import read_inventory
    from sovctl.engine.lock.public_key import read_public_key

    _show(read_inventory(file, read_public_key(key)), as_json=as_json)


def _show(found: SiteInventory, *, as_json: bool) -> None:
    if as_json:
        output.document(found.as_json())
        return
    rows = [
        (
            node.name,
            node.system["title"] or node.system["id"],
            node.system["kernel"],
            node.glibc or "unknown",
            node.python or "unknown",
            node.base[:12],
        )
        for node in found.nodes
    ]
    output.table(("NODE", "SYSTEM", "KERNEL", "GLIBC", "PYTHON", "BASE"), rows)
    for name, reason in found.not_measured.items():
        output.line(f"{name}: not measured: {reason}")
