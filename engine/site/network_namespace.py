"""Runs the command inside the management network namespace of site.yaml.

The process replaces itself by `ip netns exec NAME` with the same command, which also mounts the namespace's /sys.
Python 3.11 has no function to enter a namespace.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sovctl.support.errors import InputError, MissingTool

_NAMESPACES = Path("/run/netns")
_ENTERED = "SOVCTL_ENTERED_NETNS"


def is_inside(name: str) -> bool:
    """Return whether this process is in the network namespace `name`."""
    try:
        wanted = (_NAMESPACES / name).stat()
        here = Path("/proc/self/ns/net").stat()
    except FileNotFoundError:
        return False
    return (wanted.st_dev, wanted.st_ino) == (here.st_dev, here.st_ino)


def is_available(name: str) -> bool:
    """Return whether this machine has the network namespace `name`."""
    return (_NAMESPACES / name).exists()


def enter(name: str | None) -> None:
    """Restart this command inside the network namespace `name`.

    Returns without effect if `name` is None or this process is already in the namespace.

    Raises:
        InputError: the namespace does not exist.
        MissingTool: the namespace cannot be entered: not root, or iproute2 is absent.
    """
    if name is None or is_inside(name):
        return
    where = "site.yaml: access.network_namespace"
    if not is_available(name):
        raise InputError(
            f"no network namespace {name!r} on this machine",
            where=where,
            hint="in a lab: sovctl lab up",
        )
    if os.geteuid() != 0:
        raise MissingTool(f"root is required to enter network namespace {name!r}", where=where, hint="run it with sudo")
    if os.environ.get(_ENTERED) == name:
        raise MissingTool(f"network namespace {name!r} could not be entered", where=where)
    os.environ[_ENTERED] = name
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp("ip", ["ip", "netns", "exec", name, *sys.orig_argv])
    except FileNotFoundError:
        raise MissingTool("command `ip` not found", hint="apt-get install iproute2") from None
