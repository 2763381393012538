"""The running state: boot id, kernel, loaded module and requests for a reboot; what is unreadable is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import BOOT_ID, BOOTED_S, answer, empty

from sovctl.engine.facts import running
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.facts.running import Running, installed_kernels, loaded_module, newest_kernel
from sovctl.support.errors import SovctlError

NVRM = "NVRM version: NVIDIA UNIX {kind}  {version}  Release Build  (builder)\nGCC version:  gcc 13.2.0\n"
OPEN, PROPRIETARY = "Open Kernel Module for x86_64", "x86_64 Kernel Module"


def with_texts(**texts: str | None) -> NodeFacts:
    """Facts of an empty node with other texts, by the name of their constant in `running`."""
    facts = empty("n1")
    return replace(facts, texts={**facts.texts, **{getattr(running, name): text for name, text in texts.items()}})


def test_a_node_that_was_just_started() -> None:
    assert running.running(empty("n1")) == Running(BOOT_ID, BOOTED_S, True, "6.1.0-30-amd64", None, False, ())


def test_packages_that_request_a_reboot_are_named_once() -> None:
    facts = with_texts(REBOOT_REQUIRED="*** System restart required ***\n", REBOOT_PACKAGES="libc6\ndbus\nlibc6\n")
    run = running.running(facts)
    assert (run.reboot_required, run.reboot_packages) == (True, ("dbus", "libc6"))


def test_a_request_without_packages_is_a_request() -> None:
    run = running.running(with_texts(REBOOT_REQUIRED=""))
    assert (run.reboot_required, run.reboot_packages) == (True, ())


@pytest.mark.parametrize(
    ("module", "driver", "version"),
    [
        (None, None, None),
        ("580.126.20\n", None, "580.126.20"),
        (None, NVRM.format(kind=OPEN, version="580.126.20"), "580.126.20"),
        ("580.126.20\n", NVRM.format(kind=OPEN, version="580.126.20"), "580.126.20"),
        (None, NVRM.format(kind=PROPRIETARY, version="535.183.06"), "535.183.06"),
        (None, NVRM.format(kind=OPEN, version="620.70"), "620.70"),
    ],
)
def test_the_version_of_the_loaded_module(module: str | None, driver: str | None, version: str | None) -> None:
    assert loaded_module(module, driver) == version


@pytest.mark.parametrize(
    ("module", "driver"),
    [("580.126.20\n", NVRM.format(kind=OPEN, version="580.173.02")), ("\n", None), (None, ""), (None, "NVRM\n")],
    ids=["two versions", "empty", "empty text", "another format"],
)
def test_a_version_that_is_not_understood_is_an_error(module: str | None, driver: str | None) -> None:
    with pytest.raises(SovctlError, match="expected"):
        loaded_module(module, driver)


@pytest.mark.parametrize(
    ("state", "has_started"),
    [("initializing", False), ("starting", False), ("running", True), ("degraded", True), ("maintenance", True)],
)
def test_a_node_has_started_if_no_start_job_is_left(state: str, has_started: bool) -> None:
    facts = replace(empty("n1"), answers={**empty("n1").answers, "system": answer(f"{state}\n", state != "running")})
    assert running.running(facts).has_started is has_started


@pytest.mark.parametrize(
    "facts",
    [
        replace(empty("n1"), texts={}),
        with_texts(BOOT_ID=None),
        with_texts(BOOT_ID="\n"),
        replace(empty("n1"), answers={}),
        replace(empty("n1"), answers={**empty("n1").answers, "started": answer("UserspaceTimestamp=\n")}),
        replace(empty("n1"), answers={**empty("n1").answers, "started": answer("", 1)}),
        replace(empty("n1"), answers={**empty("n1").answers, "kernel": answer("", 127)}),
    ],
    ids=["no texts", "no boot id", "empty boot id", "no answers", "no start time", "systemctl fails", "uname fails"],
)
def test_what_was_not_measured_is_an_error(facts: NodeFacts) -> None:
    with pytest.raises(SovctlError):
        running.running(facts)


UBUNTU = ("linux-image-6.8.0-9-generic", "linux-image-6.8.0-45-generic", "linux-image-generic", "linux-base")
DEBIAN = (
    "linux-image-6.1.0-28-amd64",
    "linux-image-6.1.0-31-amd64",
    "linux-image-amd64",
    "linux-image-6.1.0-31-amd64-dbg",
)
DGX = ("linux-image-6.8.0-1025-nvidia", "linux-image-6.8.0-1031-nvidia-64k", "linux-image-unsigned-6.8.0-60-generic")


@pytest.mark.parametrize(
    ("packages", "kernel", "newest"),
    [
        (UBUNTU, "6.8.0-9-generic", "6.8.0-45-generic"),
        (UBUNTU, "6.8.0-45-generic", "6.8.0-45-generic"),
        (UBUNTU, "6.8.0-60-generic", "6.8.0-45-generic"),
        (UBUNTU, "6.8.0-1025-nvidia", None),
        (DEBIAN, "6.1.0-28-amd64", "6.1.0-31-amd64"),
        (DGX, "6.8.0-1025-nvidia", "6.8.0-1025-nvidia"),
        (DGX, "6.8.0-1031-nvidia-64k", "6.8.0-1031-nvidia-64k"),
        (DGX, "6.8.0-45-generic", "6.8.0-60-generic"),
        ((), "6.18.44-fc", None),
    ],
)
def test_the_newest_kernel_has_the_flavour_of_the_running_one(
    packages: tuple[str, ...], kernel: str, newest: str | None
) -> None:
    assert newest_kernel(packages, kernel) == newest


def test_kernels_are_ordered_by_numbers() -> None:
    assert installed_kernels(UBUNTU) == ("6.8.0-9-generic", "6.8.0-45-generic")
