"""Words of `sovctl import show`: what a bundle changes, for the person who approves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sovctl.engine.bundle.intake.history import State
from sovctl.engine.lock.report import in_words

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.bundle.intake.preview import NodeChange, Preview
    from sovctl.engine.lock.part import LockedPackage


def show_preview(found: Preview) -> None:
    """Print origin, scanner, differences, licences and nodes."""
    opened, scanned = found.bundle.opened, found.bundle.records.get(State.SCANNED, {})
    output.line(f"bundle {found.bundle.id}, sequence {found.bundle.sequence}: {found.bundle.state}")
    output.line(f"built {opened['created']}, signed by {', '.join(opened['signers'])}")
    output.line(f"imported by {opened['importer']['name']}")
    output.line(f"virus scanner: {_scanner(dict(scanned))}")
    output.line(f"{found.files} files, {in_words(found.new_bytes)} of them new at this site")
    output.line()
    if found.lock is None:
        output.line("the bundle contains no lock: packages, licences and changes of nodes are unknown")
        return
    against = f"snapshot {found.compared_with}" if found.compared_with else "a site without packages"
    output.line(f"{len(found.differences)} differences from {against}")
    if found.differences:
        rows = [
            (each.change, each.part, each.name, _version(each.old), _version(each.new)) for each in found.differences
        ]
        output.table(["CHANGE", "PART", "NAME", "PUBLISHED", "BUNDLE"], rows)
    output.line()
    output.line(f"{len(found.lock.accepted)} accepted licences")
    if found.lock.accepted:
        licences = [(row["name"], row["licence"], row["by"], row["on"], row["because"]) for row in found.lock.accepted]
        output.table(["NAME", "LICENCE", "ACCEPTED BY", "ON", "REASON"], licences)
    output.line()
    _show_nodes(found)


def _scanner(scanned: dict[str, object]) -> str:
    if not scanned:
        return "not run"
    if "accepted_by" in scanned:
        return f"none, accepted by {scanned['accepted_by']}: {scanned['reason']}"
    return (
        f"{scanned['scanner']}, definitions of {scanned['definitions']}; {scanned['files_scanned']} files scanned, "
        f"{scanned['not_virus_scanned']} not"
    )


def _version(package: LockedPackage | None) -> str:
    return f"{package.version}, {in_words(package.size)}" if package else "-"


def _show_nodes(found: Preview) -> None:
    if not found.nodes:
        output.line("changes of nodes: unknown, the inventory was not collected: sovctl inventory collect")
        return
    output.line(
        "packages that nodes lack or have in another version; `sovctl plan` after `sovctl mirror select` decides"
    )
    output.table(["NODE", "NEW", "CHANGED"], [(name, *_counts(changes)) for name, changes in found.nodes.items()])


def _counts(changes: tuple[NodeChange, ...] | None) -> tuple[str, str]:
    if changes is None:
        return "unknown", "the lock has another package status of this node"
    moved = [f"{each.package} {each.installed} -> {each.new}" for each in changes if each.installed]
    return str(len(changes) - len(moved)), ", ".join(moved) or "-"
