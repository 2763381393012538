"""Replicas on several nodes: what the plan lays down for their agents, and two real agents on loopback."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPSConnection
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from loopback_ports import unused_port
from planned_nodes import planned, with_file, with_unit
from strategies import context
from waiting import until

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.plan.build import changes
from sovctl.engine.resources.context import ROLES, Context
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.resources.pool import instance
from sovctl.engine.resources.serving.command_line import DEVICE_VARIABLES
from sovctl.engine.resources.serving.group import agent_files, agent_unit, is_group
from sovctl.engine.resources.serving.rank_ports import ASSIGNED_PORTS, ports_of
from sovctl.engine.spec.service_accounts import ENGINE_UID

AGENT = ROLES / "pool" / "files" / "group"
PRESET = "superpod-b200"
UNIT = "sovctl-pool-large.service"


def group_of_preset() -> tuple[Context, str, list[str]]:
    """The site, and the name and nodes of its first group."""
    site = context(PRESET)
    replica = next(filter(is_group, site.replicas))
    return site, instance(replica), [rank.node for rank in replica.ranks]


def test_a_replica_on_several_nodes_has_an_agent_that_starts_its_unit() -> None:
    site, name, nodes = group_of_preset()
    facts = planned(PRESET)[0]
    assert not [change for change in changes(site, facts) if change.kind == "pool"]
    for node in nodes:
        stopped = {**facts, node: with_unit(facts[node], agent_unit(name), "failed")}
        (change,) = [each for each in changes(site, stopped) if each.kind == "pool" and each.node == node]
        assert (change.id, change.before, change.after) == (
            f"{node}/pool/{name}",
            {"agent": "failed"},
            {"agent": "active"},
        )
        at_boot = {**facts, node: with_unit(facts[node], f"sovctl-pool-{name}")}
        (change,) = [each for each in changes(site, at_boot) if each.kind == "pool" and each.node == node]
        assert change.after == {"enabled": "disabled"}, "a rank that starts at boot starts without the others"
        edited = {**facts, node: with_file(facts[node], agent_files(name)[0])}
        (change,) = [each for each in changes(site, edited) if each.kind == "pool" and each.node == node]
        assert "agent_sha256" in (change.after or {})


def test_an_agent_whose_replica_is_on_one_node_now_is_an_orphan() -> None:
    site = context("lab")
    facts, name = planned("lab")[0], "chat"
    for path in agent_files(name):
        facts = {**facts, "n1": with_file(facts["n1"], path)}
    gone = [change for change in changes(site, facts) if change.kind == "pool"]
    assert [change.id for change in gone] == ["n1/pool/chat.group"]
    assert (gone[0].before or {})["files"] == [agent_files(name)[1], agent_files(name)[0]], "its unit stops first"


def test_ranks_reach_each_other_on_the_ports_of_their_replica_only() -> None:
    site = context(PRESET)
    on_node: dict[tuple[str, int], str] = {}
    for replica in filter(is_group, site.replicas):
        ports = ports_of(site, replica)
        for rank in replica.ranks:
            for port in ports:
                assert on_node.setdefault((rank.node, port), instance(replica)) == instance(replica)
            others = [str(site.spec.node(each.node).address) for each in replica.ranks if each != rank]
            rules = rules_for(site, site.spec.node(rank.node))
            for port, uid in ((ports.agent, 0), (ports.engine, ENGINE_UID), (ASSIGNED_PORTS, ENGINE_UID)):
                found = [rule for rule in rules.inbound if f"dport {port} " in rule]
                assert {f"ip saddr {other} tcp dport {port} accept" for other in others} <= set(found)
                if port != ASSIGNED_PORTS:
                    assert len(found) == len(others)
                assert {f"ip daddr {other} tcp dport {port} meta skuid {uid} accept" for other in others} <= {
                    *rules.outbound
                }
            assert not [rule for rule in rules.inbound for other in others if rule == f"ip saddr {other} accept"]
    assert on_node


def launcher() -> Any:
    loader = SourceFileLoader("serve", str(ROLES / "pool" / "files" / "serve"))
    serve = module_from_spec(spec_from_loader("serve", loader) or pytest.fail("no loader"))
    loader.exec_module(serve)
    return serve


def pci_device(root: Path, path: str, **files: str) -> Path:
    """A device in a tree such as /sys/devices, linked in `root/pci` as in /sys/bus/pci/devices."""
    device = root / "devices" / path
    device.mkdir(parents=True)
    for name, text in ({"vendor": "0x15b3", "class": "0x020700"} | files).items():
        (device / name).write_text(f"{text}\n")
    (root / "pci").mkdir(exist_ok=True)
    (root / "pci" / device.name).symlink_to(device)
    return device


def rdma_adapter(root: Path, name: str, device: Path, link_layer: str = "InfiniBand") -> None:
    port = root / "class" / name / "ports" / "1"
    port.mkdir(parents=True)
    (port / "link_layer").write_text(f"{link_layer}\n")
    (root / "class" / name / "device").symlink_to(device)


def test_a_rank_gets_the_devices_of_its_node_and_no_port_with_another_role(tmp_path: Path) -> None:
    serve = launcher()
    for number, (slot, link_layer) in enumerate(
        [("0000:18:00.0", "InfiniBand"), ("0000:29:00.0", "InfiniBand"), ("0000:40:00.0", "Ethernet")]
    ):
        rdma_adapter(tmp_path, f"mlx5_{number}", pci_device(tmp_path, f"pci0000:0{number}/{slot}"), link_layer)
    pci_device(tmp_path, "pci0000:00/0000:1b:00.0", vendor=serve.NVIDIA, **{"class": "0x030200"})
    without_roles = {"compute": [], "others": ["0000:29:00.0"], "link_layer": "InfiniBand"}
    named = {"compute": ["0000:18:00.0", "0000:29:00.0"], "others": [], "link_layer": "InfiniBand"}
    ethernet = without_roles | {"link_layer": "Ethernet"}
    for fabric, expected in ((without_roles, "mlx5_0"), (named, "mlx5_0,mlx5_1"), (ethernet, "mlx5_2")):
        settings = {"rank": 1, "ranks": ["192.0.2.1", "127.0.0.1"], "fabric": fabric}
        assert serve.device_variables(settings, tmp_path / "class", tmp_path / "pci") == {
            "GLOO_SOCKET_IFNAME": "lo",
            "NCCL_SOCKET_IFNAME": "=lo",
            "NCCL_IB_HCA": f"={expected}",
            "UCX_NET_DEVICES": ",".join(f"{name}:1" for name in expected.split(",")),
        }
    with pytest.raises(SystemExit, match=r"one interface with address .*, got none"):
        serve.device_variables(settings | {"rank": 0}, tmp_path / "class", tmp_path / "pci")


SWITCH = "pci0000:{bus}/0000:{bus}:01.0/0000:{port}:00.0"
BOARDS = {
    "one adapter and one GPU behind each switch": (
        {"15": ["1b"], "37": ["43"]},
        {"15": ["18"], "37": ["40"]},
        {"1b": "18", "43": "40"},
    ),
    "two adapters and two GPUs behind one switch": (
        {"00": ["07", "0f"]},
        {"00": ["0c", "12"]},
        {"07": "0c", "0f": "12"},
    ),
    "a GPU without an adapter behind its switch": ({"15": ["1b"], "97": ["9d"]}, {"15": ["18"]}, {}),
}
"""Of each board: GPUs and adapters by root bus, and the expected adapter of each GPU, all by bus number."""


@pytest.mark.parametrize("board", BOARDS)
def test_each_gpu_gets_the_adapter_behind_its_pci_switch(board: str, tmp_path: Path) -> None:
    serve = launcher()
    gpus, adapters, expected = BOARDS[board]
    for bus, slots in gpus.items():
        for slot in slots:
            path = f"{SWITCH.format(bus=bus, port=f'{int(bus, 16) + 1:02x}')}/0000:{slot}:00.0"
            pci_device(tmp_path, path, vendor=serve.NVIDIA, **{"class": "0x030200"})
    pci_device(tmp_path, "pci0000:15/0000:05:00.0", vendor=serve.NVIDIA, **{"class": "0x068000"})  # an NVSwitch
    names = []
    for bus, slots in adapters.items():
        for slot in slots:
            path = f"{SWITCH.format(bus=bus, port=f'{int(bus, 16) + 1:02x}')}/0000:{slot}:00.0"
            names.append(f"mlx5_{len(names)}")
            rdma_adapter(tmp_path, names[-1], pci_device(tmp_path, path))
    fabric = {"compute": [], "others": [], "link_layer": "InfiniBand"}
    settings = {"rank": 0, "ranks": ["127.0.0.1", "192.0.2.1"], "fabric": fabric}
    found = serve.device_variables(settings, tmp_path / "class", tmp_path / "pci")
    assert set(found) - {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"} <= DEVICE_VARIABLES
    assert found["NCCL_IB_HCA"] == "=" + ",".join(names)
    pairs = ",".join(f"0000:{gpu}:00.0=0000:{adapter}:00.0" for gpu, adapter in expected.items())
    assert found.get("VLLM_GPU_NIC_PCIE_MAPPING", "") == pairs
    assert found.get("VLLM_NIC_SELECTION_VARS") == ("UCX_NET_DEVICES:1" if pairs else None)
    assert ("UCX_NET_DEVICES" in found) != bool(pairs), "vLLM would append its adapter to the whole list"


@dataclass
class Rank:
    """One agent on loopback; systemctl is a script that keeps the unit's state in a file."""

    folder: Path
    process: subprocess.Popen[str]

    def state(self) -> str:
        return (self.folder / "state").read_text().strip()

    def set_state(self, state: str) -> None:
        new = self.folder / "state.new"
        new.write_text(f"{state}\n")
        new.replace(self.folder / "state")

    def told(self) -> list[str]:
        path = self.folder / "told"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def config(self) -> Path:
        return self.folder / "chat.group.json"


SYSTEMCTL = """#!/bin/sh
case "$1" in
show) cat "{folder}/state" ;;
*) echo "$@" >> "{folder}/told"
   if [ "$1" = start ]; then echo active; else echo inactive; fi > "{folder}/state.tmp"
   mv "{folder}/state.tmp" "{folder}/state" ;;
esac
"""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Rank, Rank]]:
    authority = Authority(tmp_path / "pki", "test")
    ranks, port = ["127.0.0.1", "127.0.0.2"], unused_port()
    model = tmp_path / "model"
    model.mkdir()
    (model / "MANIFEST").write_text("0 weights\n")
    (model / ".verified").touch()
    with ExitStack() as stack:
        found = []
        for rank, address in enumerate(ranks):
            folder = tmp_path / f"rank{rank}"
            (folder / "bin").mkdir(parents=True)
            (folder / "state").write_text("active\n")  # a rank that ran before its agent
            script = folder / "bin" / "systemctl"
            script.write_text(SYSTEMCTL.format(folder=folder))
            script.chmod(0o755)
            authority.issue(f"n{rank}", IPv4Address(address), now=datetime.now(UTC))
            config = {
                "unit": UNIT,
                "rank": rank,
                "ranks": ranks,
                "port": port,
                "start_timeout_s": 600,
                "weights": [str(model)],
                "url": f"https://127.0.0.1:{unused_port()}/v1",
                "ca_file": str(authority.certificate_file),
                "certificate_file": str(authority.folder / f"n{rank}.pem"),
                "key_file": str(authority.folder / f"n{rank}.key"),
            }
            (folder / "chat.group.json").write_text(json.dumps(config))
            environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
            process = subprocess.Popen(
                [sys.executable, "-IB", str(AGENT), str(folder / "chat.group.json")],
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
            )
            stack.callback(_end, process)
            found.append(Rank(folder, process))
        yield found[0], found[1]


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=20)


def show(rank: Rank) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-IB", str(AGENT), "--show", str(rank.config)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not done.stderr
    ranks = json.loads(done.stdout)["ranks"]
    assert isinstance(ranks, list)
    return ranks


def test_two_agents_start_their_units_together_and_again_after_one_ends(pair: tuple[Rank, Rank]) -> None:
    head, other = pair
    started = f"start {UNIT}"
    until(lambda: head.told()[-1:] == other.told()[-1:] == [started], "the start of both units")
    assert head.told()[0] == other.told()[0] == f"stop --no-block {UNIT}", "a rank that ran alone is stopped first"
    before = show(other)
    assert [each["state"] for each in before] == ["running", "running"]
    assert len({each["generation"] for each in before}) == 1
    other.set_state("failed")
    until(lambda: head.told().count(started) == other.told().count(started) == 2, "a second start of both units")
    after = show(head)
    assert int(str(after[0]["generation"])) > int(str(before[0]["generation"]))
    assert head.told()[-2:] == [f"stop --no-block {UNIT}", started]


def test_an_agent_answers_only_with_a_certificate_of_the_site(pair: tuple[Rank, Rank], tmp_path: Path) -> None:
    config = json.loads(pair[0].config.read_text())
    until(lambda: show(pair[0])[0].get("state") is not None, "the agent's report")
    other = Authority(tmp_path / "other", "another")
    certificate, key = other.issue("n0", IPv4Address("127.0.0.1"), now=datetime.now(UTC))
    for identity in (None, (certificate, key)):
        tls = ssl.create_default_context(cafile=config["ca_file"])
        if identity is not None:
            tls.load_cert_chain(*identity)
        with pytest.raises(OSError):
            _request(HTTPSConnection("127.0.0.1", config["port"], timeout=20, context=tls))


def _request(connection: HTTPSConnection) -> None:
    with closing(connection):
        connection.request("GET", "/group")
        connection.getresponse()
