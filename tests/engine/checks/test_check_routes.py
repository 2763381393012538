"""`network.routes-inside-site` with real routes and interfaces of the kernel, in a network namespace."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.definitions.network.routes_inside_site import Expected, RoutesInsideSite
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.model.probe import ProbeOutput

NAMESPACE = ["unshare", "--map-root-user", "--net"]
INTERFACE = (
    "set -e; ip link set lo up; ip link add eth9 type veth peer name eth8; "
    "ip address add 10.9.9.9/24 dev eth9; ip link set eth9 up; ip link set eth8 up"
)
TUNNEL = "ip tuntap add dev t0 mode tun; ip address add 10.5.0.1/24 dev t0; ip link set t0 up"
EXPECTED = Expected(networks=("10.41.0.0/16",), permitted=(("10.88.0.0/24", "10.9.9.1"),))


def has_namespaces() -> bool:
    tools = shutil.which("unshare") and shutil.which("ip")
    return bool(tools) and subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_namespaces(), reason="this machine permits no network namespace")


def judgement(*setup: str) -> Judgement:
    check = RoutesInsideSite()
    script = "; ".join((INTERFACE, *setup, "set +e", check.probe(EXPECTED).command))
    done = subprocess.run([*NAMESPACE, "sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return judge(check, ProbeOutput(done.returncode, done.stdout, done.stderr), EXPECTED)


def test_passes_with_routes_of_the_site() -> None:
    found = judgement(
        "ip route add 10.88.0.0/24 via 10.9.9.1",
        "ip route add 10.41.2.0/24 via 10.9.9.2 table 77",
        "ip route add blackhole default",
    )
    assert found.verdict is Verdict.PASS, found.reason
    assert "10.41.2.0/24 via 10.9.9.2 dev eth9 table 77" in found.reason


@pytest.mark.parametrize(
    ("route", "word"),
    [
        ("ip route add default via 10.9.9.1", "default via 10.9.9.1 dev eth9"),
        ("ip route add default via 10.9.9.1 table 77", "default via 10.9.9.1 dev eth9 table 77"),
        ("ip route add 203.0.113.0/24 dev eth9", "203.0.113.0/24 dev eth9"),
        ("ip route add 10.88.0.0/24 nexthop via 10.9.9.1 nexthop via 10.9.9.2", "via 10.9.9.2 dev eth9"),
        ("ip -6 route add default dev eth9", "default dev eth9"),
        (TUNNEL, "10.5.0.0/24 dev t0"),
    ],
)
def test_fails_for_an_added_route(route: str, word: str) -> None:
    found = judgement(route)
    assert found.verdict is Verdict.FAIL, found.reason
    assert word in found.reason
