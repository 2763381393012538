"""The management network namespace: entered as a whole command, refused in words where it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sovctl.engine.site import network_namespace as netns
from sovctl.support.errors import ExitCode, InputError

ENTER = """
import sys
from sovctl.cli.error_handler import handle_errors
from sovctl.engine.site import network_namespace as netns
with handle_errors():
    netns.enter(sys.argv[1])
"""


def test_no_namespace_named_means_staying_here() -> None:
    netns.enter(None)


def test_a_namespace_that_is_not_there_is_bad_input() -> None:
    assert not netns.is_inside("sovctl-nowhere")
    with pytest.raises(InputError, match="no network namespace 'sovctl-nowhere' on this machine") as caught:
        netns.enter("sovctl-nowhere")
    assert caught.value.where == "site.yaml: access.network_namespace"


@pytest.fixture
def namespace() -> object:
    """A network namespace of this test's own."""
    name = f"sovctl-t{os.getpid()}"
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        pytest.skip("needs root and iproute2")
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True)


def test_the_command_goes_on_inside(namespace: str) -> None:
    code = (
        "from sovctl.engine.site import network_namespace as netns; "
        f"netns.enter({namespace!r}); print(netns.is_inside({namespace!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_who_is_not_root_is_told_so(namespace: str) -> None:
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", ENTER, namespace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr or "Permission denied" in done.stderr or "libpython" in done.stderr:
        pytest.skip("another user cannot read this checkout or this Python")
    assert done.returncode == ExitCode.MISSING, done.stderr
    assert "root is required to enter network namespace" in done.stderr
