"""The table of operating systems: exact packages for every platform, and a fabric at the driver's version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sovctl.engine.catalog.board_services import board_services, load_board_services
from sovctl.engine.catalog.drivers import load_driver_locks
from sovctl.engine.catalog.operating_systems import (
    Apply,
    Package,
    SupportedSystem,
    Tasks,
    component_named,
    load_components,
    load_operating_systems,
    supported,
    upstream,
)
from sovctl.engine.catalog.platforms import PlatformComponent, load_platforms
from sovctl.engine.catalog.systems_page import page
from sovctl.engine.facts.operating_system import OperatingSystem

SYSTEMS = tuple(load_operating_systems().values())
PLATFORMS = load_platforms()


def packages(system: SupportedSystem, platform: str, *, lock: str = "nvidia-580.126.20") -> tuple[Package, ...]:
    return system.packages_for(
        PLATFORMS[platform],
        load_driver_locks()[lock],
        kernel="6.8.0-1-generic",
        tasks=Tasks(runs_python=True),
        has_own_kernel=True,
    )


def names(system: str, platform: str) -> set[str]:
    return {each.name for each in packages(load_operating_systems()[system], platform)}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.id)
@pytest.mark.parametrize("lock", load_driver_locks())
def test_fabric_manager_and_its_libraries_have_the_version_of_the_driver(system: SupportedSystem, lock: str) -> None:
    family = {"driver", "persistence", "fabric-manager", "nscq", "nvsdm", "imex"}
    driver = load_driver_locks()[lock].driver_version
    for platform in PLATFORMS:
        for each in packages(system, platform, lock=lock):
            if each.component.id in family and each.version is not None:
                assert upstream(each.version) == driver, each


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.id)
def test_versions_are_exact_and_components_known(system: SupportedSystem) -> None:
    known = {each.id: each for each in load_components()}
    for row in system.packages:
        assert row.component in known
        assert row.source
        key = known[row.component].version
        assert row.version is None or set(re.findall(r"\{(\w+)\}", row.version)) == {key}
    for platform in PLATFORMS:
        for each in packages(system, platform):
            assert "{" not in each.spec
            assert not set("*<>~ ") & set(each.version or "")
            assert component_named(each.name) == each.component


@pytest.mark.parametrize("system", [each for each in SYSTEMS if each.gpu], ids=lambda system: system.id)
def test_every_part_of_a_board_has_packages_where_gpus_are_supported(system: SupportedSystem) -> None:
    components = {each.component for each in system.packages}
    for part, component in {
        PlatformComponent.GPU: "driver",
        PlatformComponent.NVSWITCH: "fabric-manager",
        PlatformComponent.NVLINK5: "nvlsm",
        PlatformComponent.IMEX: "imex",
    }.items():
        is_old = system.id == "dgx-os-6"  # released before NVLink 5 boards
        assert component in components or is_old, part


def test_a_platform_gets_the_packages_of_its_board() -> None:
    assert {"nvidia-fabricmanager", "libnvidia-nscq"} <= names("ubuntu-24.04", "hgx-h100")
    assert not {"nvlsm", "nvidia-imex"} & names("ubuntu-24.04", "hgx-h100")
    assert {"nvidia-fabricmanager", "nvlsm", "libnvsdm", "infiniband-diags"} <= names("ubuntu-24.04", "hgx-b200")
    assert "nvidia-imex" in names("ubuntu-24.04", "dgx-gb200-nvl72")
    assert "nvidia-fabricmanager" not in names("ubuntu-24.04", "dgx-gb200-nvl72"), "it runs on the switch trays"
    assert "nvidia-fabricmanager" not in names("ubuntu-24.04", "l40s-4"), "PCIe machines have no fabric"
    tools = {"dmidecode", "ipmitool", "pciutils", "smartmontools"}
    assert names("ubuntu-24.04", "service") == {"chrony", "nftables", "python3-venv", *tools}
    assert {"kmod-nvidia-open-dkms", "kernel-devel-matched"} <= names("rhel-9", "hgx-h100")
    toolkit = {"nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools"}
    assert toolkit | {"libnvidia-container1"} <= names("rhel-9", "hgx-h100")


def test_packages_of_the_kernel_are_omitted_where_another_kernel_runs() -> None:
    system, lock = load_operating_systems()["ubuntu-24.04"], load_driver_locks()["nvidia-580.126.20"]
    inside = system.packages_for(PLATFORMS["hgx-h100"], lock, kernel="6.8.0", tasks=Tasks(), has_own_kernel=False)
    assert not {"doca-ofed", "linux-headers-6.8.0", "libnccl2", "dmidecode", "ipmitool"} & {
        each.name for each in inside
    }


@pytest.mark.parametrize(
    ("system", "row"),
    [
        (OperatingSystem(id="ubuntu", version="24.04"), "ubuntu-24.04"),
        (OperatingSystem(id="ubuntu", version="22.04"), "ubuntu-22.04"),
        (OperatingSystem(id="ubuntu", version="24.04", dgx_release="7.4.0"), "dgx-os-7"),
        (OperatingSystem(id="ubuntu", version="22.04", dgx_release="6.2.1"), "dgx-os-6"),
        (OperatingSystem(id="rhel", version="9.4"), "rhel-9"),
        (OperatingSystem(id="debian", version="12"), "debian-12"),
        (OperatingSystem(id="rhel", version="90"), None),
        (OperatingSystem(id="rhel", version="10.0"), None),
        (OperatingSystem(id="rocky", version="9.4"), None),
        (OperatingSystem(id="ubuntu", version="20.04", dgx_release="5.5.0"), None),
        (OperatingSystem(id="ubuntu", version="24.04", dgx_release="8.0.0"), None),
        (OperatingSystem(), None),
    ],
    ids=str,
)
def test_a_system_is_supported_by_name_and_version_only(system: OperatingSystem, row: str | None) -> None:
    found = supported(system)
    assert (found.id if found else None) == row


def test_dgx_os_is_compared_by_upstream_version_and_others_exactly() -> None:
    dgx, ubuntu = load_operating_systems()["dgx-os-7"], load_operating_systems()["ubuntu-24.04"]
    assert dgx.apply is Apply.ASSERTED
    assert dgx.accepts("580.126.20", "580.126.20-0ubuntu0.24.04.1")
    assert not dgx.accepts("580.126.20", "580.126.2-0ubuntu0.24.04.1")
    assert not ubuntu.accepts("580.126.20-1ubuntu1", "580.126.20-0ubuntu0.24.04.1")


def test_services_of_boards_come_from_packages_of_the_table() -> None:
    components = {each.id for each in load_components()}
    for each in load_board_services():
        assert each.component in components
        assert each.source
    units = {name: [each.unit for each in board_services(PLATFORMS[name])] for name in ("hgx-b200", "dgx-gb200-nvl72")}
    assert units["hgx-b200"] == ["openibd", "nvidia-persistenced", "nvidia-fabricmanager", None, "nvidia-dcgm"]
    assert units["dgx-gb200-nvl72"] == ["openibd", "nvidia-persistenced", "nvidia-imex", "nvidia-dcgm"]
    assert board_services(PLATFORMS["service"]) == ()


def test_the_page_of_operating_systems_is_current() -> None:
    path = Path(__file__).parents[3] / "docs" / "operating-systems.md"
    assert path.read_text() == page(), "python -m sovctl.engine.catalog.systems_page docs/operating-systems.md"
