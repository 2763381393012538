"""`sovctl bootstrap redfish`: management controllers of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import output
from ...observing import State

if TYPE_CHECKING:
    from sovctl.engine.bootstrap.redfish import Redfish

NodeName = Annotated[str, typer.Argument(metavar="NODE", help="Name of a node in site.yaml.")]
Controllers = Annotated[Path, typer.Option(help="YAML file with address, certificate and account of each controller.")]
SiteOption = Annotated[Path, typer.Option("--site", help="Path of site.yaml.")]
SITE, FILE = Path("site.yaml"), Path("bmc.yaml")


class PowerAction(StrEnum):
    """Power action of a node."""

    ON = "on"
    OFF = "off"
    FORCE_OFF = "force-off"
    RESTART = "restart"
    FORCE_RESTART = "force-restart"


def register(bootstrap: typer.Typer) -> None:
    """Add the commands to `sovctl bootstrap`."""
    group = typer.Typer(no_args_is_help=True, help="Management controllers over Redfish, with a pinned certificate.")
    bootstrap.add_typer(group, name="redfish")
    group.command(epilog="Example: sovctl bootstrap redfish status dgx-1")(status)
    group.command(
        "insert-media", epilog="Example: sovctl bootstrap redfish insert-media dgx-1 https://10.20.0.5/seeds/dgx-1.iso"
    )(insert_media)
    group.command("eject-media", epilog="Example: sovctl bootstrap redfish eject-media dgx-1")(eject_media)
    group.command("boot-once", epilog="Example: sovctl bootstrap redfish boot-once dgx-1")(boot_once)
    group.command(epilog="Example: sovctl bootstrap redfish power dgx-1 restart")(power)


def status(
    node: NodeName,
    controllers: Controllers = FILE,
    site: SiteOption = SITE,
    state: State = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show power, health, boot source and virtual media of a node."""
    with _session(node, controllers, site, state) as session:
        found = session.status()
    if as_json:
        output.document({"node": node, **found})
        return
    for name, value in found.items():
        output.line(f"{name:12} {value if value not in (None, []) else '-'}")


def insert_media(
    node: NodeName,
    image: Annotated[str, typer.Argument(metavar="URL", help="http or https URL of the image, for the controller.")],
    controllers: Controllers = FILE,
    site: SiteOption = SITE,
    state: State = None,
) -> None:
    """Insert an image into the virtual CD drive. An image with a seed contains a private key: use https."""
    with _session(node, controllers, site, state, action="insert-media") as session:
        session.insert_media(image)
    output.line(f"{node}: inserted")


def eject_media(node: NodeName, controllers: Controllers = FILE, site: SiteOption = SITE, state: State = None) -> None:
    """Eject the image of the virtual CD drive."""
    with _session(node, controllers, site, state, action="eject-media") as session:
        session.eject_media()
    output.line(f"{node}: ejected")


def boot_once(node: NodeName, controllers: Controllers = FILE, site: SiteOption = SITE, state: State = None) -> None:
    """Boot from the virtual CD drive at the next start only."""
    with _session(node, controllers, site, state, action="boot-once") as session:
        session.boot_once()
    output.line(f"{node}: boots once from the virtual CD drive")


def power(
    node: NodeName,
    action: Annotated[PowerAction, typer.Argument(help="Power action; restart and off ask the operating system.")],
    controllers: Controllers = FILE,
    site: SiteOption = SITE,
    state: State = None,
) -> None:
    """Send one power action once, also if the controller does not answer."""
    from sovctl.engine.bootstrap.redfish import Power

    with _session(node, controllers, site, state, action=f"power {action.value}") as session:
        session.power(Power[action.name])
    output.line(f"{node}: sent {action.value}")


@contextmanager
def _session(
    node: str, controllers: Path, site: Path, state: Path | None, action: str | None = None
) -> Iterator[Redfish]:
    """Open a session; with an action, hold the site's lock, and record the action before it is sent."""
    from sovctl.engine.bootstrap import bmc_settings, redfish
    from sovctl.engine.bootstrap.enrolment import node_of
    from sovctl.engine.bootstrap.ledger import record
    from sovctl.engine.site.network_namespace import enter
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    node_of(opened, node)
    bmc = bmc_settings.load(controllers, node)
    enter(opened.spec.access.network_namespace)
    if action is None:
        with redfish.session(bmc, controllers.resolve().parent) as session:
            yield session
        return
    folder, purpose = controllers.resolve().parent, f"bootstrap redfish {action}"
    with opened.state.exclusive(purpose), redfish.session(bmc, folder) as session:
        record(opened, redfish.RECORD_TYPE, node=node, address=str(bmc.address), action=action)
        yield session
