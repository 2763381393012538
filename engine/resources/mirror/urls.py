"""URLs of packages, wheels and models that a node uses: of `artifacts`, or of the selected snapshot on each mirror.

A mirror node uses its own files, because it must be complete before any mirror answers.
"""

from __future__ import annotations

from sovctl.support.errors import InputError

from ...mirror.snapshots import MirrorSnapshot
from ...spec import Node
from ..context import Context

ROOT = "/srv/sovctl/mirror"
"""Folder of a mirror node."""
CURRENT = "/current/"
CA = "/etc/ssl/sovctl-mirror-ca.pem"
"""The site's certificate authority on all nodes: apt's user cannot read the folder of credentials."""
CA_FILE = "mirror-ca.pem"
"""Its name in the fingerprints of credentials."""


def snapshot(context: Context) -> MirrorSnapshot:
    """Return the selected snapshot.

    Raises:
        InputError: none is selected.
    """
    if context.snapshot is None:
        hint = "sovctl mirror select ID --into STORE"
        raise InputError("no snapshot is selected for the mirror", where="site.yaml: mirror.store", hint=hint)
    return context.snapshot


def urls(context: Context, node: Node, url: object) -> tuple[str, ...]:
    """Return the URLs for one of `artifacts`, in order of preference, without a slash at the end."""
    text, mirror = str(url).rstrip("/"), context.spec.mirror
    if mirror is None:
        return (text,)
    path = f"snapshots/{snapshot(context).id}/{text.partition(CURRENT)[2]}"
    if context.is_mirror(node):
        return (f"file://{ROOT}/{path}",)
    return tuple(f"https://{context.spec.node(name).address}:{mirror.port}/{path}" for name in mirror.nodes)


def ca(context: Context, node: Node) -> str:
    """Return the path of the authority that a node needs for its URLs; empty without TLS."""
    return CA if context.spec.mirror is not None and not context.is_mirror(node) else ""
