"""Generates docs/operating-systems.md: `python -m sovctl.engine.catalog.systems_page docs/operating-systems.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from .board_services import load_board_services
from .drivers import load_driver_locks
from .figure import read_catalog
from .operating_systems import Apply, SupportedSystem, load_components, load_generated_files, load_operating_systems

_HEAD = """\
# Operating systems

Generated from `engine/catalog/operating_systems.yaml`, `board_services.yaml` and `drivers.yaml`; do not edit.

`sovctl plan` refuses nodes with another operating system and names all of them. Names and versions are templates:
`{driver}` is the driver's version of the lock, `{branch}` its first number, `{kernel}` the running kernel's release.
A package without version has the version of the site's mirror. `kind` is the kind of source: `vendor`, `community`
(others install this) or `guess` (check it in your mirror before the first installation).

"""
ESCAPED_BAR = r"\|"
_APPLY = {
    Apply.MANAGED: "plan and apply",
    Apply.ASSERTED: "plan and apply; NVIDIA's packages are compared with the lock and never changed",
    Apply.PLAN_ONLY: "plan only; `sovctl apply` refuses. The roles write Debian's paths, and nothing was run on it",
}


def page() -> str:
    """Return the page."""
    systems = list(load_operating_systems().values())
    parts = [
        _HEAD,
        "## Support\n\n",
        _table(("system", "package manager", "sovctl", "GPU nodes"), map(_support, systems)),
    ]
    parts += ["\n## Driver locks\n\n", _locks()]
    parts += ["\n## Services of a board\n\n", _services()]
    parts += ["\n## Generated files\n\n", _generated()]
    for system in systems:
        parts += [f"\n## {system.title}\n\n", _system(system)]
    return "".join(parts)


def _support(system: SupportedSystem) -> Sequence[str]:
    gpu = "yes" if system.gpu else "no, except simulated hardware"
    return system.title, system.package_manager, _APPLY[system.apply], gpu


def _locks() -> str:
    rows = [
        (f"`{lock.id}`", name, each.value, each.kind, each.source)
        for lock in load_driver_locks().values()
        for name, each in lock.versions.items()
    ]
    return _table(("lock", "software", "version", "kind", "source"), rows)


def _services() -> str:
    rows = [
        (
            each.id,
            f"unit `{each.unit}`" if each.unit else f"process `{each.process}`, started by `{each.started_by}`",
            each.needs,
            each.why,
            each.kind,
            each.source,
        )
        for each in load_board_services()
    ]
    unmanaged = [
        f"Not managed: `{each['name']}`, because {each['why']} ({each['kind']}: {each['source']}).\n"
        for each in read_catalog("board_services")["unmanaged"]
    ]
    return _table(("service", "started as", "needed by", "purpose", "kind", "source"), rows) + "\n" + "".join(unmanaged)


def _generated() -> str:
    rows = [(each.os, f"`{each.pattern}`", each.writer, each.kind, each.source) for each in load_generated_files()]
    text = (
        "`sovctl plan` does not list these files as unmanaged, in addition to those of Debian. "
        "Read on 2026-11-28; not tried on such a node.\n\n"
    )
    return text + _table(("os", "pattern", "written by", "kind", "source"), rows)


def _system(system: SupportedSystem) -> str:
    titles = {each.id: each.title for each in load_components()}
    lines = [
        f"- Version rule: {system.pin}",
        f"- Secure Boot: {system.secure_boot}",
        *(f"- Repository for the mirror: {each.title}, {each.url}" for each in system.repositories),
    ]
    rows = [
        (titles[row.component], f"`{row.name}`", f"`{row.version}`" if row.version else "mirror", row.kind, row.source)
        for row in system.packages
    ]
    return "\n".join(lines) + "\n\n" + _table(("component", "package", "version", "kind", "source"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', ESCAPED_BAR).strip() for cell in row)} |\n" for row in lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
