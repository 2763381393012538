"""Table of failure trials: how each is caused, the expected report of sovctl, and how the cause is removed.

Every trial begins and ends on an applied site: the cause is removed, `sovctl apply --resume` finishes, and the next
plan is empty.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.engine.lab.layout import node_named
from sovctl.engine.lab.linux import cgroup, network
from sovctl.engine.lab.node import node as lab_node
from sovctl.engine.lab.services import services
from sovctl.support.errors import ExitCode

from .site import Command, Events, FailingSite

HEALTHY_LIMIT_S = 300.0
"""Maximum time of a node until its pool answers after its start, seconds; 30 s on two idle cores."""


@dataclass(frozen=True)
class Trial:
    """One failure.

    Args:
        name: unique.
        change: makes the plan of the trial non-empty.
        cause: context of the failure, which runs the apply and yields it after its end. Its exit removes the cause.
        codes: accepted exit codes of the apply.
        says: texts of its output; the message must name the cause.
        finish: options of the apply that finishes after the cause is gone; None plans and applies again.
    """

    name: str
    change: Callable[[FailingSite], None]
    cause: Callable[[FailingSite], AbstractContextManager[Command]]
    codes: frozenset[int]
    says: tuple[str, ...]
    finish: tuple[str, ...] | None = ("--resume",)
    cut_off: frozenset[str] = frozenset()
    """Nodes without a connection, whose lock therefore stays until the next run of the controller."""


def begun_on(node: str) -> Callable[[Events], bool]:
    """Return a condition on a journal: a role began on a node."""
    return lambda events: any(each["event"] == "role-started" and each.get("node") == node for each in events)


def power_on(site: FailingSite, name: str) -> None:
    """Start a node again, and wait until its pool answers.

    Raises:
        RuntimeError: it does not.
    """
    site.sovctl("lab", "up", "--preset", "ha", "--name", site.name, "--directory", str(site.file.parent))
    until = time.monotonic() + HEALTHY_LIMIT_S
    while time.monotonic() < until:
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            site.on(name, "systemctl is-system-running --wait || true")
            site.on(name, "ss -Hltn sport = :8000 | grep -q LISTEN")
            return
        time.sleep(1)
    raise RuntimeError(f"{name}: its pool does not answer {HEALTHY_LIMIT_S:.0f} s after its start")


@contextmanager
def node_death(site: FailingSite) -> Iterator[Command]:
    """Power of n2 fails while its roles run."""
    command = site.apply_until(begun_on("n2"))
    cgroup.clear(site.lab.machine(node_named("n2")))
    lab_node.forget(site.lab, node_named("n2"))
    command.end()
    try:
        yield command
    finally:
        power_on(site, "n2")


@contextmanager
def ssh_loss(site: FailingSite) -> Iterator[Command]:
    """The network drops all packets between the controller and the ssh port of n2 while its roles run."""
    command = site.apply_until(begun_on("n2"))
    nft = [*network.inside(site.lab.namespace), "nft"]
    rules = """table inet trial {
        chain out { type filter hook output priority 0; ip daddr 10.77.0.12 tcp dport 22 drop; }
        chain in { type filter hook input priority 0; ip saddr 10.77.0.12 tcp sport 22 drop; }
    }"""
    subprocess.run([*nft, "-f", "-"], input=rules, text=True, check=True)
    try:
        command.end()
        yield command
    finally:
        subprocess.run([*nft, "delete", "table", "inet", "trial"], check=True)


@contextmanager
def full_disk_of_node(site: FailingSite) -> Iterator[Command]:
    """The file system of /etc/chrony on n2 is full."""
    site.on(
        "n2",
        "cp -a /etc/chrony /run/chrony.before && mount -t tmpfs -o size=32k,mode=755 tmpfs /etc/chrony && "
        "cp -a /run/chrony.before/. /etc/chrony/ && rm -r /run/chrony.before && "
        "{ head -c 1M /dev/zero > /etc/chrony/conf.d/fill || true; }",
    )
    try:
        command = site.start("apply", str(site.file), "--yes")
        command.end()
        yield command
    finally:
        site.on("n2", "umount /etc/chrony")


@contextmanager
def full_disk_of_controller(site: FailingSite) -> Iterator[Command]:
    """The file system of the state folder is full from the first wave on."""
    kept = site.state.with_name(".sovctl.kept")
    shutil.copytree(site.state, kept, symlinks=True)
    shutil.rmtree(site.state)
    site.state.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(site.state)], check=True)
    shutil.copytree(kept, site.state, symlinks=True, dirs_exist_ok=True)
    filler = site.state / "filler"
    try:
        command = site.apply_until(begun_on("n1"))
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4k"], capture_output=True, check=False)
        command.end()
        yield command
    finally:
        filler.unlink(missing_ok=True)
        shutil.rmtree(kept)
        shutil.copytree(site.state, kept, symlinks=True)
        subprocess.run(["umount", str(site.state)], check=True)
        shutil.copytree(kept, site.state, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(kept)


@contextmanager
def repository_gone(site: FailingSite) -> Iterator[Command]:
    """The site's package mirror does not answer."""
    (web,) = [each for each in services.SERVICES if each.name == "web"]
    services.stop(site.lab, web)
    try:
        command = site.start("apply", str(site.file), "--yes")
        command.end()
        yield command
    finally:
        services.start(site.lab, web)
        services.wait(site.lab, web)


_TAKE_PORT = """
import socket, time
taken = socket.socket()
taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while True:
    try:
        taken.bind(("0.0.0.0", 8000))
        taken.listen()
        break
    except OSError:
        time.sleep(0.01)
time.sleep(3600)
"""


@contextmanager
def failing_canary(site: FailingSite) -> Iterator[Command]:
    """Another program on n1 takes the port of the pool when its server stops; so the pool does not start again."""
    before = _server_start(site, "n2")
    site.on("n1", f"systemd-run --unit=trial-port --collect /usr/bin/python3 -c '{_TAKE_PORT}'")
    try:
        command = site.start("apply", str(site.file), "--yes")
        command.end()
        if _server_start(site, "n2") != before:
            raise RuntimeError("the pool of n2 was restarted after the canary failed")
        yield command
    finally:
        site.on("n1", "systemctl stop trial-port")


def _server_start(site: FailingSite, node: str) -> str:
    """Return the PIDs of the pool's server on a node."""
    pids = sorted(cgroup.members(site.lab.machine(node_named(node))))
    servers = [pid for pid in pids if b"vllm" in _command_line(pid) and b"serve" in _command_line(pid)]
    return ",".join(map(str, servers))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def two_controllers(site: FailingSite) -> Iterator[Command]:
    """A second controller applies its own plan to the same nodes, while the first one changes them."""
    other = site.file.parent / "second-controller"
    shutil.rmtree(other, ignore_errors=True)
    site.sovctl("plan", str(site.file), "--state", str(other), "--json")
    first = site.apply_until(begun_on("n1"))
    second = site.start("apply", str(site.file), "--state", str(other), "--yes")
    second.end()
    site.sovctl("apply", str(site.file), "--yes", accept=(ExitCode.BUSY,))  # of the same controller
    if (code := first.end()) != ExitCode.OK:
        raise RuntimeError(f"the first controller ended with {code}: {first.output[-300:]}")
    second.ended_at = time.monotonic()
    yield second
    shutil.rmtree(other)


def ended_by(number: signal.Signals) -> Callable[[FailingSite], AbstractContextManager[Command]]:
    """Return the cause: a signal to the apply in its second wave."""

    @contextmanager
    def cause(site: FailingSite) -> Iterator[Command]:
        command = site.apply_until(begun_on("n2"))
        command.signal(number)
        yield command

    return cause


@contextmanager
def killed_rollback(site: FailingSite) -> Iterator[Command]:
    """The rollback of an applied change is killed; site.yaml keeps the later description."""
    site.apply()
    command = site.apply_until(begun_on("n2"), "--rollback")
    command.signal(signal.SIGKILL)
    yield command


@contextmanager
def dead_node_in_plan(site: FailingSite) -> Iterator[Command]:
    """n2 has no power when the site is planned; the other nodes are planned and applied, with consent to downtime."""
    cgroup.clear(site.lab.machine(node_named("n2")))
    lab_node.forget(site.lab, node_named("n2"))
    try:
        plan = json.loads(site.sovctl("plan", str(site.file), "--json", accept=(0, ExitCode.UNREACHABLE)))
        if "n2" not in plan["unknown"] or any(each["node"] == "n2" for each in plan["changes"]):
            raise RuntimeError(f"expected n2 as unknown, got {plan['unknown']}")
        command = site.start("apply", str(site.file), "--yes", "--allow-downtime", "chat")
        command.end()
        yield command
    finally:
        power_on(site, "n2")


_SERVERS = (
    "runuser --user=sovctl-gateway -- /opt/sovctl/gateway/bin/python -m sovctl.gateway servers {} "
    "--config /etc/sovctl/gateway.yaml https://10.77.0.11:8000/v1"
)


@contextmanager
def drained_by_operator(site: FailingSite) -> Iterator[Command]:
    """An operator drained the server of n1 on both gateways. A change of n2 would leave the pool without a server."""
    for gateway in ("s1", "s2"):
        site.on(gateway, _SERVERS.format("drain --reason maintenance --timeout-s 0"))
    try:
        command = site.start("apply", str(site.file), "--yes")
        command.end()
        for gateway in ("s1", "s2"):
            site.on(gateway, _SERVERS.format("list").rpartition(" ")[0] + " --json | grep -q maintenance")
        yield command
    finally:
        for gateway in ("s1", "s2"):
            site.on(gateway, _SERVERS.format("undrain"))


def _clock(site: FailingSite) -> None:
    site.toggle_clock()


def _engine(site: FailingSite) -> None:
    def change(values: dict[str, Any]) -> None:
        pool = values["pools"][0]
        pool["max_num_seqs"] = 9 if pool["max_num_seqs"] == 8 else 8

    site.edit(change)


def _missing_package(site: FailingSite) -> None:
    site.on("n1", "dpkg --purge --force-depends libnvidia-nscq >/dev/null")


TRIALS = (
    Trial("node-death", _clock, node_death, frozenset({1}), ("n2", "does not answer", "--resume")),
    Trial(
        "ssh-loss", _clock, ssh_loss, frozenset({1}), ("n2", "does not answer", "--resume"), cut_off=frozenset({"n2"})
    ),
    Trial("full-disk-node", _clock, full_disk_of_node, frozenset({1}), ("n2", "No space left", "--resume")),
    Trial("full-disk-controller", _clock, full_disk_of_controller, frozenset({1}), ("no space left", "--resume")),
    Trial("repository-gone", _missing_package, repository_gone, frozenset({1}), ("n1", "package", "--resume")),
    Trial("two-controllers", _clock, two_controllers, frozenset({6}), ("locked by controller", "--break-lock"), None),
    Trial("ctrl-c", _clock, ended_by(signal.SIGINT), frozenset({130}), ("interrupted",)),
    Trial("hangup", _clock, ended_by(signal.SIGHUP), frozenset({-signal.SIGHUP}), ()),
    Trial("terminate", _clock, ended_by(signal.SIGTERM), frozenset({-signal.SIGTERM}), ()),
    Trial("killed-rollback", _clock, killed_rollback, frozenset({-signal.SIGKILL}), (), ("--rollback", "--resume")),
    Trial("dead-node-in-plan", _clock, dead_node_in_plan, frozenset({0}), (), None),
    Trial("failing-canary", _engine, failing_canary, frozenset({1}), ("n1", "not started", "--resume")),
    Trial("drained-by-operator", _engine, drained_by_operator, frozenset({1}), ("n2", "drained"), ("--resume",)),
)


def by_name() -> Mapping[str, Trial]:
    """Return the trials by name."""
    return {trial.name: trial for trial in TRIALS}
