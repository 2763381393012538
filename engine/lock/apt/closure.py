"""Closure check of Debian and Ubuntu packages: an installation from the files of the part only, without network."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from ..part import Part
from ..targets import NodeTarget
from . import flat_repository
from .part import CHECKED, preferences, status_of
from .private_apt import PrivateApt


def checked(part: Part, node: NodeTarget) -> Part:
    """Return the part after a simulated installation of every role, in a network namespace without routes.

    Args:
        node: one of the nodes of the part, which have the same package status.

    Raises:
        LockRefused: a root of a role cannot be installed from the files of the part.
    """
    with tempfile.TemporaryDirectory(prefix="sovctl-closure-") as folder:
        root = Path(folder)
        source = flat_repository.add(root / "repository", part.index)
        apt = PrivateApt(
            root / "apt",
            architecture=part.target["architecture"],
            sources={"part.list": source},
            status=status_of(node.base),
            preferences=preferences(node),
        )
        apt.update()
        for role, roots in part.roles.items():
            where = f"{part.id}, {role}, from the locked files only"
            apt.install(roots, where=where, print_uris=False, without_network=True)
    return replace(part, closure_check=CHECKED)
