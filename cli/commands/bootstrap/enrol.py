"""`sovctl bootstrap enrol`: the host key of one node."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ... import output
from ...observing import DEFAULT, SiteFile, State


class ReadAt(StrEnum):
    """Place at which a person read the fingerprint."""

    CONSOLE = "console"
    BMC = "bmc"


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command(
        "enrol",
        epilog="Example: sovctl bootstrap enrol dgx-1 --fingerprint SHA256:YgJFDwqwFbH3suPDyNtQQ1l7WSTN9ESBsGS6qqPVCgM "
        "--witness anna --read-at console",
    )(enrol)


def enrol(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of a node in site.yaml.")],
    fingerprint: Annotated[
        str | None, typer.Option(help="SHA-256 fingerprint of the host key, read at the node and not over the network.")
    ] = None,
    witness: Annotated[str | None, typer.Option(help="Account or role of the second person who compared it.")] = None,
    read_at: Annotated[ReadAt | None, typer.Option(help="Place at which the fingerprint was read.")] = None,
    from_seed: Annotated[
        bool, typer.Option("--from-seed", help="Instead of these three: the host key in the seed of the node.")
    ] = False,
    site: SiteFile = DEFAULT,
    state: State = None,
    replaces: Annotated[
        str | None, typer.Option(help="Fingerprint of the node's earlier host key, for a reinstalled node.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write the host key of a node into access.known_hosts_file, if the node offers the key with this fingerprint.

    The ledger gets operator, witness and place. A key with another fingerprint is refused.
    """
    from sovctl.engine.bootstrap import seeds
    from sovctl.engine.bootstrap.enrolment import Reading, node_of
    from sovctl.engine.bootstrap.enrolment import enrol as enrol_node
    from sovctl.engine.site.network_namespace import enter
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    enter(opened.spec.access.network_namespace)
    if from_seed:
        _refuse_mixed(fingerprint, witness, read_at)
        reading = Reading(seeds.host_key(opened, node).fingerprint, "seed", None)
    else:
        reading = Reading(*_complete(fingerprint, read_at, witness))
    with opened.state.exclusive("bootstrap enrol"):
        found = enrol_node(opened, node_of(opened, node), reading, replaces=replaces)
    if as_json:
        output.document(found.as_json())
        return
    words = "enrolled" if found.is_new else "already enrolled"
    output.line(f"{found.node}: {words} {found.key.fingerprint} ({found.key.kind})")


def _refuse_mixed(*options: str | None) -> None:
    from sovctl.support.errors import InputError

    if any(option is not None for option in options):
        raise InputError("excludes --fingerprint, --witness and --read-at", where="--from-seed")


def _complete(fingerprint: str | None, read_at: ReadAt | None, witness: str | None) -> tuple[str, str, str]:
    from sovctl.support.errors import InputError

    if fingerprint is None or read_at is None or witness is None:
        hint = "read the fingerprint at the console; for a node with a seed: --from-seed"
        raise InputError("--fingerprint, --witness and --read-at are required together", hint=hint)
    return fingerprint, read_at.value, witness
