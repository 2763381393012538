"""Makes the part of a lock for nodes with dnf: resolves their roots in an empty root, and checks the closure.

The rpm database of the nodes is not available to dnf. The closure is therefore that of an empty root, without the
packages that the inventory lists in the same version.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sovctl.support.errors import MissingTool
from sovctl.support.package_files import package_folder

from .. import programs
from ..apt.part import mirror_folder, target_of
from ..inventory import PackageBase
from ..licences import stated_licence
from ..part import LockedPackage, Part, Redistributable
from ..refused import LockRefused
from ..targets import NodeTarget, roles
from .sources import is_subscription

CHECKED = "closed: dnf resolved every role from these packages only, in a network namespace without routes"
NOT_CHECKED = "not run: --no-closure-check"
HINT = "apt-get install dnf"
_PROGRAM = package_folder("engine/lock/dnf") / "solver_program.py"
_PYTHON = "/usr/bin/python3"  # dnf is a package of the distribution, not of PyPI


def make_part(members: Sequence[NodeTarget], repositories: Mapping[str, Mapping[str, object]], *, check: bool) -> Part:
    """Return the part of nodes with the same system, architecture and package status.

    Raises:
        LockRefused: the roots cannot be installed, or a package has no SHA-256.
        MissingTool: this machine has no dnf.
    """
    first, by_role = members[0], {role: tuple(map(_spec, roots)) for role, roots in roles(members).items()}
    roots = tuple(sorted({root for each in by_role.values() for root in each}))
    with tempfile.TemporaryDirectory(prefix="sovctl-dnf-") as folder:
        request = {
            "folder": folder,
            "releasever": first.system.match.version,
            "arch": first.architecture,
            "repositories": repositories,
            "roots": roots,
            "only": None,
            "offline": False,
        }
        answer = _solved(request, where=first.part_id, folder=Path(folder))
        names = [row["full_name"] for row in answer["packages"]]
        for role, own in by_role.items() if check else ():
            _solved(
                request | {"roots": own, "only": names, "offline": True},
                where=f"{first.part_id}, {role}, from the locked packages only",
                folder=Path(folder),
                without_network=True,
            )
    installed = _installed(first.base)
    target = mirror_folder(first.system, first.architecture)
    packages = [
        _locked(row, target, repositories, where=first.part_id)
        for row in answer["packages"]
        if (row["name"], row["version"], row["arch"]) not in installed
    ]
    return Part(
        id=first.part_id,
        kind="rpm",
        target=target_of(first),
        roots=roots,
        roles=by_role,
        packages=tuple(sorted(packages, key=lambda each: (each.name, each.arch, each.version))),
        solver={"tool": "dnf", "version": answer["version"], "indexes": answer["indexes"]},
        closure_check=CHECKED if check else NOT_CHECKED,
    )


def _spec(root: str) -> str:
    """Return a root in the form of dnf: `name-epoch:version-release`."""
    return root.replace("=", "-", 1)


def _solved(request: Mapping[str, Any], *, where: str, folder: Path, without_network: bool = False) -> dict[str, Any]:
    argv = [_PYTHON if Path(_PYTHON).exists() else sys.executable, "-I", str(_PROGRAM)]
    done = programs.run(
        argv, extra={"TMPDIR": str(folder)}, hint=HINT, without_network=without_network, stdin=json.dumps(request)
    )
    if "No module named 'dnf'" in done.stderr:
        raise MissingTool("dnf is not installed", hint=HINT)
    if done.exit_code != 0:
        reason = " ".join(done.stderr.split()[-20:]) or f"dnf ended with {done.exit_code}"
        raise LockRefused([reason], where=where, hint="check the package sources")
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer["problems"]:
        raise LockRefused(answer["problems"], where=where, hint="check the roots against the package sources")
    return answer


def _installed(base: PackageBase | None) -> frozenset[tuple[str, str, str]]:
    rows = (line.split("\t") for line in (base.status if base else "").splitlines())
    return frozenset((name, version.removeprefix("0:"), arch) for name, version, arch, _ in rows)


def _locked(
    row: Mapping[str, Any], folder: str, repositories: Mapping[str, Mapping[str, object]], *, where: str
) -> LockedPackage:
    if row["checksum"] != "sha256":
        reason = f"{row['full_name']} has a digest {row['checksum']} only"
        raise LockRefused([reason], where=where, hint="use a source with SHA-256")
    licence, redistributable = stated_licence(row["licence"])
    own: Redistributable = "own-subscription" if is_subscription(repositories[row["repository"]]) else redistributable
    return LockedPackage(
        name=row["name"],
        version=row["version"],
        arch=row["arch"],
        path=f"{folder}/{row['file']}",
        size=row["size"],
        sha256=row["digest"],
        source=row["repository"],
        url=row["url"],
        licence=licence,
        redistributable=own,
    )
