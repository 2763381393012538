"""Run inside the management network namespace that site.yaml names.

A namespace cannot be entered by a running multi-threaded program on Python 3.11 without ctypes, and `ip netns exec`
does it properly (it also mounts the namespace's /sys), so the command replaces itself by the same command inside.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sovctl.support.errors import InputError, MissingTool

_NAMESPACES = Path("/run/netns")
_ENTERED = "SOVCTL_ENTERED_NETNS"


def is_inside(name: str) -> bool:
    """True when this process already has the network namespace `name`."""
    try:
        wanted = (_NAMESPACES / name).stat()
        here = Path("/proc/self/ns/net").stat()
    except FileNotFoundError:
        return False
    return (wanted.st_dev, wanted.st_ino) == (here.st_dev, here.st_ino)


def enter(name: str | None) -> None:
    """Continue inside the network namespace `name`; returns at once when already there or when `name` is None.

    Raises:
        InputError: there is no such namespace.
        MissingTool: it cannot be entered (not root, or iproute2 is absent).
    """
    if name is None or is_inside(name):
        return
    where = "site.yaml: access.network_namespace"
    if not (_NAMESPACES / name).exists():
        raise InputError(
            f"expected a network namespace named {name!r} on this machine, found none",
            where=where,
            hint="in a lab: sovctl lab up",
        )
    if os.geteuid() != 0:
        raise MissingTool(f"expected root to enter network namespace {name!r}", where=where, hint="run it with sudo")
    if os.environ.get(_ENTERED) == name:
        raise MissingTool(f"network namespace {name!r} could not be entered", where=where)
    os.environ[_ENTERED] = name
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp("ip", ["ip", "netns", "exec", name, *sys.orig_argv])
    except FileNotFoundError:
        raise MissingTool("expected the command `ip`, found none", hint="apt-get install iproute2") from None
