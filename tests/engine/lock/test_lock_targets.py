"""Roots of nodes from site.yaml and the catalogue, with and without an inventory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sovctl.engine.lock.inventory import NodeStatus, PackageBase, SiteInventory
from sovctl.engine.lock.leaving import with_pseudonyms
from sovctl.engine.lock.refused import LockRefused
from sovctl.engine.lock.targets import by_part, roles, targets
from sovctl.engine.resources.context import Context
from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import write_preset
from sovctl.support.errors import InputError

UBUNTU = {
    "id": "ubuntu",
    "version": "24.04",
    "title": "Ubuntu 24.04",
    "kernel": "6.8.0-60-generic",
    "architecture": "x86_64",
}
BASE = PackageBase("apt", "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.39\n\n")


@pytest.fixture
def context(tmp_path: Path) -> Context:
    written = write_preset("closed-perimeter", tmp_path / "site", force=False)
    return Site.open(written.site, touches_nodes=False).context()


def inventory(context: Context, **changes: object) -> SiteInventory:
    nodes = tuple(
        NodeStatus(
            name=node.name, system=UBUNTU, virtualization="metal", simulated=False,
            kernels=("6.8.0-60-generic", "6.8.0-71-generic"), glibc="2.39", python="3.12.3", repositories=(),
            devices=(), firmware=(), base=BASE.sha256,
        )
        for _, node in context.spec.nodes()
    )  # fmt: skip
    nodes = (replace(nodes[0], **changes), *nodes[1:])  # type: ignore[arg-type]
    return SiteInventory(context.spec.site.name, "2026-11-28T10:00:00Z", nodes, {BASE.sha256: BASE})


def test_modules_are_compiled_for_every_installed_kernel(context: Context) -> None:
    found = targets(context, inventory(context), system=None, machine="")
    gpu = next(each for each in found if each.has_gpus)
    assert {"linux-headers-6.8.0-60-generic", "linux-headers-6.8.0-71-generic", "gcc", "make"} <= set(gpu.roots)
    assert f"nvidia-fabricmanager={context.lock.driver_version}-1" in gpu.roots
    assert gpu.driver_pin == context.lock.driver_version
    assert (gpu.python, gpu.glibc, gpu.architecture) == ("3.12", "2.39", "amd64")
    gateway = next(each for each in found if not each.has_gpus)
    assert not any("nvidia" in root or "linux-headers" in root for root in gateway.roots)


def test_equal_nodes_share_a_part_with_their_roles(context: Context) -> None:
    found = targets(context, inventory(context), system=None, machine="")
    (part,) = by_part(found)
    assert part == f"ubuntu-24.04-amd64-{BASE.sha256[:8]}"
    assert len(roles(found)) >= 2
    other = replace(inventory(context), bases={BASE.sha256: BASE})
    assert by_part(targets(context, other, system=None, machine="")).keys() == {part}


def test_pseudonyms_are_mapped_back_by_their_order(context: Context) -> None:
    plain = targets(context, inventory(context), system=None, machine="")
    hidden = targets(context, with_pseudonyms(inventory(context), context.spec), system=None, machine="")
    assert [(each.node, each.roots) for each in hidden] == [(each.node, each.roots) for each in plain]


def test_unknown_kernels_are_refused(context: Context) -> None:
    with pytest.raises(LockRefused, match="kernels are unknown"):
        targets(context, inventory(context, kernels=None), system=None, machine="")


def test_an_unsupported_system_is_refused(context: Context) -> None:
    system = UBUNTU | {"id": "slackware", "title": "Slackware"}
    with pytest.raises(LockRefused, match="Slackware is not supported"):
        targets(context, inventory(context, system=system), system=None, machine="")


def test_a_node_that_was_not_measured_is_refused(context: Context) -> None:
    found = inventory(context)
    name = found.nodes[0].name
    found = replace(found, nodes=found.nodes[1:], not_measured={name: "timed out"})
    with pytest.raises(InputError, match=f"no status of {name}: timed out"):
        targets(context, found, system=None, machine="")
