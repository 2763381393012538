"""A real lab: booted nodes, the way out, packages, faults, crashes, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_specimens import OwnLab

from sovctl.engine.lab import layout
from sovctl.engine.lab.artifacts import wheelhouse
from sovctl.engine.lab.hardware import faults
from sovctl.engine.lab.layout import NODES, Lab, node_named
from sovctl.engine.lab.lifecycle import lifecycle, status
from sovctl.engine.lab.linux import cgroup, mounts, network, process
from sovctl.engine.lab.linux.process import LabFailure, run
from sovctl.engine.lab.node import node
from sovctl.engine.lab.services import capture, cloud, services

pytestmark = pytest.mark.lab

N1 = node_named("n1")
SOURCE = """\
Types: deb
URIs: http://10.77.0.1:8080/apt
Suites: ./
Signed-By: /etc/apt/keyrings/lab.asc
"""
# All of them: apt takes the newest of what is only depended on, and then cannot have the older one.
FAMILY = (
    "nvidia-open",
    "nvidia-kernel-open-dkms",
    "nvidia-driver-cuda",
    "nvidia-persistenced",
    "nvidia-fabricmanager",
)
INSTALL = "sudo DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --allow-downgrades"


def wait_until(is_so: Callable[[], bool], *, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, "was not so in time"
        time.sleep(0.05)


def left_of(lab: Lab) -> list[str]:
    """Everything that there is of a lab on this machine."""
    found = [f"namespace {name}" for name in network.existing(lab)]
    found += [f"mount {point}" for point in mounts.below(lab.state)]
    found += [f"control group of {each.name}" for each in NODES if cgroup.exists(lab.machine(each))]
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    found += [f"process {each.pid}" for each in process.marked(lab.name, numbers)]
    loops = run(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"], purpose="list loop devices")
    found += [f"loop device of {line}" for line in loops.splitlines() if str(lab.state) in line]
    found += [str(path) for path in (lab.state, lab.lock_file) if path.exists()]
    return found


@pytest.fixture(scope="module")
def repository(own_lab: OwnLab) -> OwnLab:
    """The lab with n1 using its repository, as a site's nodes do."""
    root = own_lab.lab.root(N1)
    key = (own_lab.directory / "access" / "apt-key.asc").read_text()
    (root / "etc/apt/keyrings/lab.asc").write_text(key)
    (root / "etc/apt/sources.list.d/debian.sources").write_text(SOURCE)
    own_lab.on(N1, "sudo apt-get update -q")
    return own_lab


@pytest.fixture(scope="module")
def driver(repository: OwnLab) -> OwnLab:
    """The lab with driver and fabric manager on n1."""
    versions = " ".join(f"{name}=580.126.20-1" for name in FAMILY)
    repository.on(N1, f"{INSTALL} {versions} && sudo systemctl enable --now nvidia-fabricmanager", timeout_s=120)
    return repository


def test_every_node_is_a_booted_debian_that_says_what_is_simulated(own_lab: OwnLab) -> None:
    for each in NODES:
        assert own_lab.on(each, "systemctl is-system-running --wait").strip() == "running"
        assert "12 (bookworm)" in own_lab.on(each, "cat /etc/os-release")
        assert own_lab.on(each, "cat /etc/sovctl-simulated").startswith("simulated:")
    assert len({own_lab.on(each, "cat /etc/machine-id") for each in NODES}) == len(NODES)


def test_the_image_has_nothing_that_a_site_is_to_install(own_lab: OwnLab) -> None:
    installed = own_lab.on(N1, "dpkg-query -W -f '${Package}\\n'").split()
    assert not {"chrony", "nftables", "python3-venv", "nvidia-open"} & set(installed)


def test_the_written_keys_open_every_node_and_name_it_truly(own_lab: OwnLab) -> None:
    access = own_lab.directory / "access"
    for each in NODES:
        options = ["-i", access / "id_ed25519", "-o", f"UserKnownHostsFile={access / 'known_hosts'}"]
        options += ["-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-F", "none"]
        words = [*network.inside(own_lab.lab.namespace), "ssh", *options, f"ops@{each.address}", "sudo -n hostname"]
        assert run(words, purpose="log in").strip() == each.name


def test_no_node_has_a_way_to_anywhere_but_the_lab(own_lab: OwnLab) -> None:
    for each in NODES:
        assert own_lab.on(each, "ip -4 route show default; ip -6 route show default") == ""
        assert "unreachable" in own_lab.on(each, "ip route get 192.0.2.1 2>&1; true")
    for namespace in own_lab.lab.namespaces:
        routes = run(["ip", "-n", namespace, "route", "show", "default"], purpose="look at routes")
        assert routes == "", namespace


def test_only_a_nodes_own_firewall_would_keep_it_from_the_outside(own_lab: OwnLab) -> None:
    capture.clear(own_lab.lab.capture_file)
    reach = f"import socket; socket.create_connection(('{layout.CLOUD_ADDRESS}', 9), 5).sendall(b'from s1')"
    own_lab.on("s1", f'python3 -c "{reach}"')
    wait_until(lambda: bool(list(capture.read(own_lab.lab.capture_file))))
    found = list(capture.read(own_lab.lab.capture_file))
    assert [(each["peer"], each["body"]) for each in found] == [(node_named("s1").address, "from s1")]


def test_the_controller_serves_time_without_touching_this_machines_clock(own_lab: OwnLab) -> None:
    ask = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5);"
        f"s.sendto(b'\\x23' + bytes(47), ('{layout.CONTROLLER_ADDRESS}', 123)); print(s.recv(48)[1])"
    )
    assert own_lab.on("n2", f'python3 -c "{ask}"').strip() == "8"  # RFC 5905: byte 1 is the stratum
    clock = next(each for each in services.SERVICES if each.name == "clock")
    assert "Disabled control of system clock" in services.log(own_lab.lab, clock).read_text()


def test_the_repository_is_refused_without_its_key(own_lab: OwnLab) -> None:
    source = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://10.77.0.1:8080/apt ./"
    only = "-o Dir::Etc::SourceList=/tmp/lab.list -o Dir::Etc::SourceParts=/dev/null -o APT::Update::Error-Mode=any"
    with pytest.raises(LabFailure, match=r"not signed|NO_PUBKEY"):
        own_lab.on("n2", f"echo '{source}' > /tmp/lab.list && sudo apt-get {only} update")


def test_installing_a_version_makes_the_node_report_it(driver: OwnLab) -> None:
    assert driver.on(N1, "nvidia-smi --query-gpu=driver_version --format=csv,noheader").split() == ["580.126.20"] * 8
    assert "580.126.20" in driver.on(N1, "cat /proc/driver/nvidia/version")
    assert driver.on(N1, "nv-fabricmanager --version").strip() == "Fabric Manager version is : 580.126.20"
    assert driver.on(N1, "cat /sys/class/dmi/id/product_name").strip() == "DGXH100"
    daemons = driver.on(N1, "systemctl is-active nvidia-fabricmanager nvidia-persistenced")
    assert daemons.split() == ["active", "active"]
    assert driver.on(N1, "nvidia-smi -q -x").count("<state>Completed</state>") == 8
    assert driver.on(N1, "dpkg --verify nvidia-driver-cuda nvidia-fabricmanager") == ""


def test_a_fabric_manager_of_another_version_does_not_start(driver: OwnLab) -> None:
    driver.on(N1, f"{INSTALL} nvidia-fabricmanager=580.173.02-1")
    assert driver.on(N1, "systemctl is-active nvidia-fabricmanager; true").strip() == "failed"
    assert "don't match with driver version 580.126.20" in driver.on(N1, "sudo journalctl -u nvidia-fabricmanager")
    assert "<state>In Progress</state>" in driver.on(N1, "nvidia-smi -q -x")
    driver.on(N1, f"{INSTALL} nvidia-fabricmanager=580.126.20-1")
    assert driver.on(N1, "systemctl is-active nvidia-fabricmanager").strip() == "active"


def test_a_fault_is_seen_at_once_and_gone_when_mended(driver: OwnLab) -> None:
    faults.set_fault(driver.lab, N1, faults.fault_named("nvlink-down"))
    faults.set_fault(driver.lab, N1, faults.fault_named("driver-unloaded"))
    assert driver.on(N1, "nvidia-smi -L >/dev/null; echo $?").strip() == "9"
    faults.clear_fault(driver.lab, N1, faults.fault_named("driver-unloaded"))
    assert "Link 7: <inactive>" in driver.on(N1, "nvidia-smi nvlink -s -i 3")
    faults.clear_fault(driver.lab, N1, None)
    assert driver.on(N1, "nvidia-smi nvlink -s").count("26.562 GB/s") == 8 * 18
    assert faults.active(driver.lab, N1) == []


def test_a_reboot_is_a_reboot(driver: OwnLab) -> None:
    before = driver.on(N1, "touch kept; cat /proc/sys/kernel/random/boot_id")
    driver.on(N1, "sudo systemctl reboot; true")

    def is_back() -> bool:
        try:
            return driver.on(N1, "cat /proc/sys/kernel/random/boot_id") != before
        except LabFailure:
            return False

    wait_until(is_back)
    assert driver.on(N1, "systemctl is-system-running --wait; ls kept").split() == ["running", "kept"]
    assert driver.on(N1, "nvidia-smi -q -x").count("<state>Completed</state>") == 8


def test_a_node_installs_wheels_from_the_lab_by_hash(repository: OwnLab) -> None:
    repository.on(N1, f"{INSTALL} python3-venv", timeout_s=120)
    lock = wheelhouse.LOCKS_FOLDER / "installer.txt"
    (repository.lab.root(N1) / "tmp").mkdir(exist_ok=True)
    (repository.lab.root(N1) / "home/ops/installer.txt").write_text(lock.read_text())
    pip = "v/bin/pip install --quiet --no-index --no-deps --require-hashes --find-links http://10.77.0.1:8080/wheels/"
    said = repository.on(
        N1, f"python3 -m venv v && {pip} --trusted-host 10.77.0.1 -r installer.txt && v/bin/uv --version", timeout_s=120
    )
    assert said.startswith("uv 0.13.8")


def test_the_model_on_the_site_is_the_one_in_its_manifest(own_lab: OwnLab) -> None:
    fetch = (
        "import urllib.request as u, hashlib; b = 'http://10.77.0.1:8080/models/echo/';"
        "g = lambda p: u.urlopen(b + p, timeout=10).read();"
        "print(all(hashlib.sha256(g(l.split()[1])).hexdigest() == l.split()[0]"
        " for l in g('MANIFEST').decode().splitlines()))"
    )
    assert own_lab.on("n2", f'python3 -c "{fetch}"').strip() == "True"


def test_up_again_changes_nothing(own_lab: OwnLab) -> None:
    boots = [own_lab.on(each, "cat /proc/sys/kernel/random/boot_id") for each in NODES]
    key = (own_lab.directory / "secrets" / "cloud-key").read_text()
    began = time.monotonic()
    own_lab.up()
    assert time.monotonic() - began < 10
    assert [own_lab.on(each, "cat /proc/sys/kernel/random/boot_id") for each in NODES] == boots
    assert (own_lab.directory / "secrets" / "cloud-key").read_text() == key


def test_up_mends_a_killed_daemon_and_a_killed_node(own_lab: OwnLab) -> None:
    web = next(each for each in services.SERVICES if each.name == "web")
    own_lab.on("s1", "touch kept && sync")
    for found in (services.process(own_lab.lab, web), node.process(own_lab.lab, node_named("s1"))):
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
    wait_until(lambda: services.process(own_lab.lab, web) is None)
    seen = status.status_of(own_lab.lab)
    assert not seen.is_up
    assert {part.name for part in seen.parts if not part.is_well} == {"s1", "web"}
    own_lab.up()
    assert status.status_of(own_lab.lab).is_up
    assert own_lab.on("s1", "ls kept").strip() == "kept"


def test_the_cloud_answers_the_key_that_up_wrote(own_lab: OwnLab) -> None:
    key = (own_lab.directory / "secrets" / "cloud-key").read_text().strip()
    ask = (
        "import json, os, ssl, sys, urllib.request as u;"
        f"r = u.Request('https://{layout.CLOUD_ADDRESS}/v1/models');"
        "r.add_header('Authorization', 'Bearer ' + os.environ['KEY']);"
        "print(u.urlopen(r, timeout=10, context=ssl.create_default_context(cafile=sys.argv[1])).read().decode())"
    )
    words = [
        *network.inside(own_lab.lab.namespace),
        sys.executable,
        "-c",
        ask,
        own_lab.directory / "access/cloud-ca.pem",
    ]
    assert json.loads(run(words, purpose="ask the cloud", environment={"KEY": key}))["data"][0]["id"] == cloud.MODEL
    assert key not in own_lab.lab.capture_file.read_text()


def test_a_second_lab_lives_beside_it_and_leaves_nothing(own_lab: OwnLab, tmp_path: Path) -> None:
    second = Lab("sovtest-two")
    lifecycle.up(second, directory=tmp_path, mirror_uri=None, progress=lambda _: None)
    assert status.status_of(second).is_up
    assert left_of(second)
    lifecycle.down(second, progress=lambda _: None)
    assert left_of(second) == []
    lifecycle.down(second, progress=lambda _: None)
    assert left_of(second) == []
    assert status.status_of(own_lab.lab).is_up


@pytest.mark.parametrize("moment", ["n1", "root"])
def test_an_up_that_was_killed_is_cleaned_by_down(own_lab: OwnLab, tmp_path: Path, moment: str) -> None:
    lab = Lab("sovtest-cut")
    seen = {"n1": Path("/run/netns") / lab.machine(N1), "root": lab.root(N1)}[moment]
    command = [Path(sys.executable).with_name("sovctl"), "lab", "up", "--name", lab.name, "--directory", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        wait_until(lambda: seen.exists() or started.poll() is not None)
        started.kill()
    assert not lifecycle.is_whole(lab)
    assert left_of(lab)
    lifecycle.down(lab, progress=lambda _: None)
    assert left_of(lab) == []


def test_a_crashed_lab_is_cleaned_and_built_anew_by_up(own_lab: OwnLab) -> None:
    own_lab.on("n2", "touch lost")
    own_lab.lab.record_file.unlink()
    assert "removing the remains of an earlier lab" in own_lab.up()
    assert status.status_of(own_lab.lab).is_up
    assert own_lab.on("n2", "ls") == ""
