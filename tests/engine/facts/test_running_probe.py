"""The survey of the running state reports processes, routes, a host name and a time zone, from real ones."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sovctl.engine.plan.unmanaged import RUNNING_PROGRAM

NODE = os.uname().nodename
ROUTE = "ip route add 192.0.2.0/24 dev lo"
NETWORK = ["unshare", "--map-root-user", "--net", "--uts"]
DEVICE = "ip link set lo up; ip address add 10.9.9.9/24 dev lo; "


def has_namespaces() -> bool:
    tools = shutil.which("unshare") and shutil.which("ip")
    return bool(tools) and subprocess.run([*NETWORK, "true"], capture_output=True, check=False).returncode == 0


in_a_namespace = pytest.mark.skipif(not has_namespaces(), reason="this machine permits no network namespace")


def rows(root: Path, setup: str = "", *, zones: tuple[str, ...] = (), node: str = NODE) -> dict[tuple[str, str], str]:
    accounts = [pwd.getpwuid(os.getuid()).pw_name]
    request = json.dumps({"node": node, "zones": zones, "accounts": accounts, "known": []})
    command = [sys.executable, "-I", str(RUNNING_PROGRAM), request, str(root)]
    if setup:
        command = [*NETWORK, "sh", "-c", f'{setup}; exec "$@"', "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {(kind, name): detail for kind, name, detail in json.loads(done.stdout)}


def of_kind(found: dict[tuple[str, str], str], wanted: str) -> dict[str, str]:
    return {name: detail for (kind, name), detail in found.items() if kind == wanted}


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@contextmanager
def running(program: Path, *, is_removed: bool = False) -> Iterator[None]:
    """A process of a copy of sleep(1)."""
    shutil.copy2(os.path.realpath(shutil.which("sleep") or "/bin/sleep"), program)
    process = subprocess.Popen([program, "60"])
    try:
        if is_removed:
            program.unlink()
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize(
    ("is_removed", "detail"),
    [(False, "1 running, a program of no package"), (True, "1 running, a program that was deleted")],
)
def test_a_process_of_no_package_is_reported(tmp_path: Path, is_removed: bool, detail: str) -> None:
    program = tmp_path / "drift-loop"
    with running(program, is_removed=is_removed):
        assert of_kind(rows(tmp_path), "process")[str(program)] == detail
    assert str(program) not in of_kind(rows(tmp_path), "process")


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg is not installed")
def test_a_process_of_a_package_is_not_reported(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        exe = str(Path(f"/proc/{process.pid}/exe").readlink())
        assert exe not in of_kind(rows(tmp_path), "process")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", [NODE, f"{NODE}.example.org", NODE.upper()])
def test_accepted_forms_of_the_host_name_are_not_reported(tmp_path: Path, name: str) -> None:
    put(tmp_path, "etc/hostname", f"{name}\n")
    assert of_kind(rows(tmp_path), "host name") == {}
    assert of_kind(rows(tmp_path, node=name), "host name") == {}


@in_a_namespace
def test_another_host_name_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "etc/hostname", f"{NODE}\n")
    assert of_kind(rows(tmp_path, "hostname n9"), "host name") == {"n9": f"running, expected {NODE}"}
    put(tmp_path, "etc/hostname", "n8\n")
    assert of_kind(rows(tmp_path), "host name") == {"n8": f"in /etc/hostname, expected {NODE}"}


@pytest.mark.parametrize(
    ("target", "zones", "detail"),
    [
        (None, (), None),
        ("/usr/share/zoneinfo/Etc/UTC", (), None),
        ("../usr/share/zoneinfo/UTC", (), None),
        ("/usr/share/zoneinfo/Europe/Berlin", ("Europe/Berlin",), None),
        ("/usr/share/zoneinfo/Asia/Tokyo", ("Europe/Berlin",), "is Asia/Tokyo, expected UTC or Europe/Berlin"),
        ("/var/tmp/zone", (), "is a file of an unknown zone, expected UTC"),
    ],
)  # fmt: skip
def test_a_time_zone_other_than_that_of_the_site_is_reported(
    tmp_path: Path, target: str | None, zones: tuple[str, ...], detail: str | None
) -> None:
    (tmp_path / "etc").mkdir()
    if target:
        (tmp_path / "etc/localtime").symlink_to(target)
    assert of_kind(rows(tmp_path, zones=zones), "time zone").get("/etc/localtime") == detail


@pytest.mark.parametrize(("rule", "count"), [(b"UTC0", 0), (b"NZST-12NZDT,M9.5.0,M4.1.0/3", 1)])
def test_a_copied_file_of_a_zone_is_read(tmp_path: Path, rule: bytes, count: int) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").write_bytes(b"TZif2" + bytes(39) + b"\n" + rule + b"\n")
    assert len(of_kind(rows(tmp_path), "time zone")) == count


@in_a_namespace
def test_a_route_by_hand_is_reported_and_those_of_the_kernel_are_not(tmp_path: Path) -> None:
    assert of_kind(rows(tmp_path, f"{DEVICE}{ROUTE}"), "route") == {
        "192.0.2.0/24": "dev lo, in no file of the network's configuration"
    }
    assert of_kind(rows(tmp_path, f"{DEVICE}ip route add blackhole 192.0.2.7"), "route") == {
        "192.0.2.7/32": "blackhole, in no file of the network's configuration"
    }


@in_a_namespace
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/netplan/50-x.yaml", "network: {ethernets: {a: {routes: [{to: 192.0.2.0/24, via: 10.9.9.1}]}}}\n"),
        ("etc/network/interfaces", "  up route add -net 192.0.2.0 netmask 255.255.255.0 gw 10.9.9.1\n"),
        ("etc/network/interfaces.d/a", "  up ip route add 192.0.2.0/24 via 10.9.9.1\n"),
        ("etc/systemd/network/10-a.network", "[Route]\nDestination=192.0.2.1/24\n"),
        ("run/systemd/network/10-netplan-a.network.d/x.conf", "[Route]\nDestination=192.0.2.0/24\n"),
        ("etc/NetworkManager/system-connections/a.nmconnection", "[ipv4]\nroute1=192.0.2.0/24,10.9.9.1\n"),
        ("etc/sysconfig/network-scripts/route-a", "ADDRESS0=192.0.2.0\nNETMASK0=255.255.255.0\n"),
    ],
)
def test_a_route_in_a_file_of_the_network_is_not_reported(tmp_path: Path, path: str, text: str) -> None:
    put(tmp_path, path, text)
    assert of_kind(rows(tmp_path, f"{DEVICE}{ROUTE}"), "route") == {}


@in_a_namespace
@pytest.mark.parametrize(
    "route",
    [
        "ip route add default dev lo",
        "ip route add 192.0.2.0/24 dev lo proto dhcp",
        "ip route add 192.0.2.0/24 dev lo proto bird",
        "ip route add 169.254.0.0/16 dev lo",
        "ip link add docker0 type dummy && ip link set docker0 up && ip route add 192.0.2.0/24 dev docker0",
        "ip -6 route add unreachable ::/96 dev lo",
    ],
)
def test_routes_of_other_programs_are_not_reported(tmp_path: Path, route: str) -> None:
    assert of_kind(rows(tmp_path, f"set -e; {DEVICE}{route}"), "route") == {}
