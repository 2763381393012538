"""Nodes that cannot be observed are named, each with its reason, and nothing is guessed about them."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest
from example_sites import example

from bench.gathering.servers import Servers, can_serve, ssh_servers
from sovctl.engine.gather import captures, gather
from sovctl.engine.site.site import Site
from sovctl.engine.spec import SiteSpec
from sovctl.support.errors import ExitCode, InputError, NodeUnreachable

# What ssh libraries say, and what we make of it.
MESSAGES = {
    "Authentication failed.": "authentication",
    "Host key for server '10.0.0.1' does not match": "host-key",
    "No host key for 10.0.0.1 found in known_hosts": "host-key",
    "timed out": "unreachable",
    "[Errno 113] No route to host": "unreachable",
    "[Errno 111] Connection refused": "unreachable",
    "something that nobody has seen": "unreachable",
}


def test_every_refusal_has_a_kind_and_every_kind_a_remedy() -> None:
    # In a process of its own: the worker replaces Python's sockets.
    code = "import json, sys; from sovctl.engine.gather.worker import classify; "
    code += "print(json.dumps([classify(each)[0] for each in json.load(sys.stdin)]))"
    command = [gather.sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, input=json.dumps(list(MESSAGES)), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(MESSAGES.values())
    assert set(MESSAGES.values()) <= gather.REMEDIES.keys()


@pytest.fixture
def quiet(tmp_path: Path) -> Site:
    """The lab's site.yaml with two nodes on loopback, at a port where nobody listens."""
    site = example("lab", tmp_path / "site")
    key = site.folder / site.spec.access.key_file
    key.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (site.folder / site.spec.access.known_hosts_file).write_text("# nobody is known\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    nodes = {"n1": "127.0.0.2", "n2": "127.0.0.3", "s1": "127.0.0.4"}
    text = (site.folder / "site.yaml").read_text()
    for name, old in (("n1", "10.77.0.11"), ("n2", "10.77.0.12"), ("s1", "10.77.0.21")):
        text = text.replace(old, nodes[name])
    (site.folder / "site.yaml").write_text(text)
    opened = Site.open(site.folder / "site.yaml", touches_nodes=False)
    access = opened.spec.access.model_copy(update={"port": port, "connect_timeout_s": 3})
    opened.spec = opened.spec.model_copy(update={"access": access})
    return opened


def test_nodes_that_do_not_answer_are_all_named_with_address_and_reason(quiet: Site) -> None:
    wanted = {name: gather.Request({}, (), (), 60) for name in ("n1", "s1")}
    told: list[str] = []
    found = gather.gather(quiet.spec, quiet.folder, wanted, report=told.append)
    assert found.captures == {}
    with pytest.raises(NodeUnreachable) as caught:
        found.require_all(quiet.spec)
    assert "n1 (127.0.0.2): connection to the ssh port refused" in caught.value.message
    assert "s1 (127.0.0.4): connection to the ssh port refused" in caught.value.message
    assert caught.value.exit_code is ExitCode.UNREACHABLE
    assert caught.value.hint == gather.REMEDIES["unreachable"]
    assert len(told) == 2


def test_a_key_file_that_is_not_there_is_bad_input(quiet: Site) -> None:
    (quiet.folder / quiet.spec.access.key_file).unlink()
    with pytest.raises(InputError, match="no such file") as caught:
        gather.gather(quiet.spec, quiet.folder, {"n1": gather.Request({}, (), (), 60)})
    assert caught.value.where == "site.yaml: access.key_file"


def test_captures_are_kept_closed_and_come_back(tmp_path: Path) -> None:
    capture = {"node": "n1", "captured": "2026-11-21T09:00:00Z", "commands": {}, "files": {}, "texts": {}}
    captures.save({"n1": captures.encode(capture)}, tmp_path)
    assert captures.load(tmp_path, ["n1"]) == {"n1": capture}
    assert (tmp_path / "n1.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "[]", '{"node": "n2"}', '{"node": "n1"}', "null"])
def test_what_is_no_capture_of_that_node_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "n1.json").write_text(content)
    with pytest.raises(InputError, match="not a capture of node 'n1'"):
        captures.load(tmp_path, ["n1"])


def test_a_missing_capture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no capture of node 'n1'"):
        captures.load(tmp_path, ["n1"])


def _spec_at(site: Site, servers: Servers) -> SiteSpec:
    files = {"key_file": str(servers.key_file), "known_hosts_file": str(servers.known_hosts_file)}
    access = site.spec.access.model_copy(update={**files, "port": servers.port, "user": "root"})
    return site.spec.model_copy(update={"access": access})


@pytest.mark.skipif(not can_serve(), reason="needs root, sshd and sudo")
def test_nodes_without_sudo_fail_with_that_cause(quiet: Site, tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "empty").mkdir()
    addresses = ["127.0.0.2", "127.0.0.3"]
    with ssh_servers(tmp_path / "ssh", addresses, session_path=str(tmp_path / "empty")) as servers:
        spec = _spec_at(quiet, servers)
        found = gather.gather(spec, quiet.folder, dict.fromkeys(("n1", "n2"), gather.Request({}, (), (), 60)))
    assert found.failures == dict.fromkeys(("n1", "n2"), ("sudo", "sudo is not installed"))


@pytest.mark.skipif(not can_serve(), reason="needs root, sshd and sudo")
def test_a_request_of_more_than_a_mebibyte_reaches_a_node(quiet: Site, tmp_path: Path) -> None:
    # An argument has at most 128 KiB (execve(2)). The request is larger, and so is one of its answers.
    (tmp_path / "ssh").mkdir()
    request = gather.Request(
        commands={f"c{number}": ["echo", f"{number} {'x' * 1000}"] for number in range(1200)},
        hash=tuple(f"/nowhere/{number}/*" for number in range(1000)),
        read=("/proc/sys/kernel/ostype",),
        timeout_s=60,
    )
    assert len(json.dumps(vars(request))) > 1 << 20
    with ssh_servers(tmp_path / "ssh", ["127.0.0.2", "127.0.0.3"]) as servers:
        spec = _spec_at(quiet, servers)
        wanted = {"n1": gather.Request({"name": ["echo", "small"]}, (), (), 60), "n2": request}
        found = gather.gather(spec, quiet.folder, wanted).require_all(spec)
    assert found["n1"]["commands"]["name"]["stdout"] == "small\n"
    assert found["n2"]["commands"]["c1199"]["stdout"] == f"1199 {'x' * 1000}\n"
    assert len(found["n2"]["commands"]) == 1200
    assert found["n2"]["texts"] == {"/proc/sys/kernel/ostype": "Linux\n"}
