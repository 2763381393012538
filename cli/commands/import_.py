"""`sovctl import`: receives, verifies, scans and publishes bundles at a closed site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output
from ..default_command import DefaultsToSite

if TYPE_CHECKING:
    from sovctl.engine.bundle.intake.intake import Outcome

Into = Annotated[Path, typer.Option("--into", help="Store of the site; created if absent.")]
Key = Annotated[Path, typer.Option("--key", help="Private key of a person of the policy.")]
SiteFile = Annotated[Path, typer.Option("--site", metavar="SITE", help="site.yaml, or its folder.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to site.yaml.")]
Policy = Annotated[
    Path | None, typer.Option("--policy", help="Import policy; default: import-policy.yaml next to site.yaml.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Bundle = Annotated[str, typer.Argument(metavar="ID", help="Id or sequence of the bundle.")]
DEFAULT = Path("site.yaml")


class _DefaultsToMedia(DefaultsToSite):
    default_command = "media"


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(
        cls=_DefaultsToMedia, no_args_is_help=True, help="Import of bundles into a closed site, by two persons."
    )
    app.add_typer(group, name="import")
    group.command(
        epilog="Examples: sovctl import stick1 stick2 --into store --key anna.key  ·  "
        "sovctl import stick1 --into store --key anna.key --expect-sequence 1 --expect-root 'lusab babad ...'"
    )(media)
    group.command(epilog="Example: sovctl import status --into store")(status)
    group.command(epilog="Example: sovctl import show 7 --into store")(show)
    group.command(epilog="Example: sovctl import approve 7 --into store --key ben.key")(approve)
    group.command(epilog="Example: sovctl import reject 7 --into store --key ben.key --reason 'virus found'")(reject)
    group.command(epilog="Example: sovctl import inventory --into store --key site.key -o inventory.json")(inventory)


def media(
    media: Annotated[list[Path], typer.Argument(metavar="MEDIA...", help="Folders of media, in any order.")],
    into: Into,
    key: Key,
    site: SiteFile = DEFAULT,
    state: State = None,
    policy: Policy = None,
    expect_sequence: Annotated[
        int | None, typer.Option(help="Sequence from a second channel; required for the first import.")
    ] = None,
    expect_root: Annotated[
        str | None,
        typer.Option(help="Words or SHA-256 of the first root, from paper; required for the first import."),
    ] = None,
    missing: Annotated[Path, typer.Option(help="List of missing chunks; written if chunks are missing.")] = Path(
        "missing.txt"
    ),
    as_json: AsJson = False,
) -> None:
    """Receive, verify and scan media. Can be interrupted and repeated; published after `sovctl import approve`.

    Exit code 1 if chunks are missing or damaged, or the bundle is refused.
    """
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.bundle.intake.admission import Expected
    from sovctl.engine.bundle.intake.opening import open_intake
    from sovctl.engine.bundle.root_words import parse_digest
    from sovctl.engine.bundle.verification import missing_text
    from sovctl.support.atomic_files import write_atomic

    root = parse_digest(expect_root, where="--expect-root") if expect_root else None
    signer = load(key)
    try:
        with open_intake(site, into, state=state, policy=policy, report=output.progress) as intake:
            done = intake.receive(media, key=signer, expected=Expected(expect_sequence, root), now=datetime.now(UTC))
    finally:
        output.progress_done()
    if done.received.missing:
        write_atomic(missing, missing_text(done.received.missing))
    _show(done, missing, as_json=as_json)
    if done.received.missing or done.received.damaged:
        raise typer.Exit(1)


def _show(done: Outcome, missing: Path, *, as_json: bool) -> None:
    received = done.received
    if as_json:
        output.document(
            {
                "bundle": done.bundle,
                "sequence": done.sequence,
                "state": done.state,
                "missing": list(received.missing),
                "damaged": [{"medium": str(path), "sha256": sha256} for path, sha256 in received.damaged],
                "not_virus_scanned": list(done.not_scanned),
            }
        )
        return
    output.line(f"bundle {done.bundle}: {done.state}")
    for path, sha256 in received.damaged:
        output.line(f"damaged on {path}: {sha256}")
    for name in done.not_scanned:
        output.line(f"not virus-scanned, format checked: {name}")
    if received.missing:
        output.line(
            f"missing chunks: {len(received.missing)}, listed in {missing}; insert the other media, then repeat"
        )
    elif done.state == "scanned":
        output.line(
            f"waiting for another person: sovctl import show {done.sequence} --into STORE, then "
            f"sovctl import approve {done.sequence} --into STORE --key FILE"
        )


def status(
    into: Annotated[Path | None, typer.Option("--into", help="Store of the site, for the received bytes.")] = None,
    site: SiteFile = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Show all bundles of the ledger, with their persons and scanner, and with --into the received bytes."""
    from sovctl.engine.bundle.intake.opening import statuses

    found = statuses(site, into, state=state)
    if as_json:
        output.document({"bundles": found})
        return
    rows = [
        [each["state"], each["bundle"], each["created"], each["importer"], each["approver"] or "-", each["received"]]
        for each in found
    ]
    output.table(["STATE", "BUNDLE", "CREATED", "IMPORTER", "APPROVER", "RECEIVED"], rows)


def show(bundle: Bundle, into: Into, site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> None:
    """Show what a verified bundle changes, before its approval: packages, licences, scanner, and packages of nodes.

    Compared with the published snapshot, and with the inventory of the nodes if it was collected.
    """
    from sovctl.engine.bundle.intake.opening import preview

    from ..views.preview import show_preview

    found = preview(site, into, bundle, state=state)
    if as_json:
        output.document(found.as_json())
    else:
        show_preview(found)


def approve(
    bundle: Bundle, into: Into, key: Key, site: SiteFile = DEFAULT, state: State = None, policy: Policy = None
) -> None:
    """Approve a scanned bundle as a second person, and publish it. Can be repeated after an interruption."""
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.bundle.intake.opening import open_intake

    with open_intake(site, into, state=state, policy=policy) as intake:
        snapshot = intake.approve(bundle, key=load(key), now=datetime.now(UTC))
    output.line(f"published: {snapshot}; {into / 'current'} links to it")


def reject(
    bundle: Bundle,
    into: Into,
    key: Key,
    reason: Annotated[str, typer.Option(help="Reason, recorded in the ledger.")],
    site: SiteFile = DEFAULT,
    state: State = None,
    policy: Policy = None,
) -> None:
    """Reject a bundle: its bytes are deleted, and its records stay."""
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.bundle.intake.opening import open_intake

    with open_intake(site, into, state=state, policy=policy) as intake:
        intake.reject(bundle, key=load(key), reason=reason, now=datetime.now(UTC))
    output.line("rejected; the bytes are deleted")


def inventory(
    into: Into,
    key: Annotated[Path, typer.Option("--key", help="Private key of the site; its .vkey is known to the builder.")],
    to: Annotated[Path, typer.Option("-o", "--output", help="Output file.")],
    site: SiteFile = DEFAULT,
    state: State = None,
    policy: Policy = None,
) -> None:
    """Write the signed list of published contents, for `sovctl bundle build --have`. It contains digests only."""
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.bundle.intake.opening import open_intake

    with open_intake(site, into, state=state, policy=policy) as intake:
        count = intake.export(to, key=load(key), now=datetime.now(UTC))
    output.line(f"{to}: {count} contents")
