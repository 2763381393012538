"""The status of real nodes over ssh, its export, and refusals of altered exports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.gathering.servers import can_serve, ssh_servers
from sovctl.compliance.signing import SigningKey
from sovctl.engine.gather.gather import gather
from sovctl.engine.lock import collect, inventory
from sovctl.engine.lock.inventory import NodeStatus, PackageBase, SiteInventory
from sovctl.engine.lock.leaving import with_pseudonyms, words_of
from sovctl.engine.spec import SiteSpec
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import write_preset
from sovctl.support.errors import InputError

STATUS = """\
Package: zlib1g
Status: install ok installed
Maintainer: Jane Doe <jane@example.org>
Architecture: amd64
Version: 1:1.2.13-1
Depends: libc6 (>= 2.14),
 libother
Conffiles:
 /etc/private 0123456789abcdef
Description: compression library

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


@pytest.fixture
def spec(tmp_path: Path) -> SiteSpec:
    return load(write_preset("lab", tmp_path / "site", force=False).site).spec


def made(spec: SiteSpec) -> SiteInventory:
    """An inventory of the nodes of a site, with their names where names can be."""
    preferences = {"/etc/apt/preferences.d/n1": 'Package: *\nPin: origin "mirror.bank.example"\nPin-Priority: 900\n'}
    base = PackageBase("apt", collect.reduced_status(STATUS), preferences)
    system = {
        "id": "debian",
        "version": "12",
        "title": "Debian 12",
        "kernel": "6.1.0-30-amd64",
        "architecture": "x86_64",
    }
    nodes = tuple(
        NodeStatus(
            name=node.name, system=system, virtualization="metal", simulated=True, kernels=("6.1.0-30-amd64",),
            glibc="2.36", python="3.11.2", repositories=("http://mirror.bank.example/debian", f"http://{node.address}/x"),
            devices=(), firmware=(), base=base.sha256,
        )
        for _, node in spec.nodes()
    )  # fmt: skip
    return SiteInventory(spec.site.name, "2026-11-28T10:00:00Z", nodes, {base.sha256: base}, {"n9": "n9: timed out"})


def test_reads_the_status_of_real_nodes(spec: SiteSpec, tmp_path: Path) -> None:
    if not can_serve():
        pytest.skip("not run: requires root and sshd")
    (tmp_path / "ssh").mkdir()
    addresses = ["127.60.0.1", "127.60.0.2", "127.60.0.3"]
    with ssh_servers(tmp_path / "ssh", addresses) as servers:
        nodes = iter(addresses)
        groups = [
            group.model_copy(
                update={"nodes": [node.model_copy(update={"address": next(nodes)}) for node in group.nodes]}
            )
            for group in spec.node_groups
        ]
        access = spec.access.model_copy(
            update={"user": "root", "port": servers.port, "key_file": str(servers.key_file),
                    "known_hosts_file": str(servers.known_hosts_file), "network_namespace": None}
        )  # fmt: skip
        local = spec.model_copy(update={"node_groups": groups, "access": access})
        found = collect.inventory_of(local, gather(local, tmp_path, collect.requests(local)))
    assert [node.name for node in found.nodes] == ["n1", "n2", "s1"]
    assert not found.not_measured
    (base,) = found.bases.values()  # all nodes share this machine's packages
    installed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}\n"], capture_output=True, text=True)
    assert base.status.count("\n\n") == installed.stdout.split().count("installed")
    assert "Maintainer:" not in base.status
    node = found.nodes[0]
    glibc = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True).stdout.split()[1]
    kernel = subprocess.run(["uname", "-r"], capture_output=True, text=True).stdout.strip()
    assert (node.glibc, node.system["kernel"]) == (glibc, kernel)
    assert inventory.parse_inventory(found.as_json(), where="test") == found


def test_keeps_the_fields_of_the_solver_only() -> None:
    assert collect.reduced_status(STATUS) == (
        "Package: zlib1g\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.2.13-1\n"
        "Depends: libc6 (>= 2.14),\n libother\n\n"
    )


def test_removes_credentials_of_repositories() -> None:
    assert (
        collect.without_credentials("https://me:secret@repo.example:8443/deb?token=x")
        == "https://repo.example:8443/deb"
    )


def test_hides_names_addresses_and_hosts(spec: SiteSpec) -> None:
    found = with_pseudonyms(made(spec), spec)
    text = json.dumps(found.as_json())
    words = "\n".join(words_of(found))
    for _, node in spec.nodes():
        for name in (node.name, str(node.address)):
            assert f'"{name}"' not in text
            assert f"/{name}" not in text
            assert f" {name}," not in words
    assert "bank.example" not in text + words
    assert [node.name for node in found.nodes] == ["node-1", "node-2", "node-3"]
    assert inventory.parse_inventory(found.as_json(), where="test") == found  # bases have new digests


def test_lists_in_words_what_leaves(spec: SiteSpec) -> None:
    words = "\n".join(words_of(made(spec)))
    for part in ("site: lab", "n1, n2, s1", "status of 1 packages (apt)", "text of /etc/apt/preferences.d/n1",
                 "mirror.bank.example", "6.1.0-30-amd64", "not included: serial numbers"):  # fmt: skip
        assert part in words


def test_the_same_inventory_has_the_same_bytes(spec: SiteSpec, tmp_path: Path) -> None:
    key = SigningKey.generate()
    for name in ("a", "b"):
        inventory.write_signed(made(spec), tmp_path / name, key)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert inventory.read_inventory(tmp_path / "a", key.public) == made(spec)


@pytest.mark.parametrize("damage", ["a byte", "no signature", "signature", "another key", "base", "not JSON", "absent"])
def test_refuses_a_damaged_inventory(spec: SiteSpec, tmp_path: Path, damage: str) -> None:
    key, path = SigningKey.generate(), tmp_path / "inventory.json"
    inventory.write_signed(made(spec), path, key)
    text = path.read_text()
    signer = key.public
    if damage == "a byte":
        path.write_text(text.replace('"2.36"', '"2.35"', 1))
    elif damage == "no signature":
        path.write_text(json.dumps(json.loads(text)["inventory"]))
    elif damage == "signature":
        path.write_text(text.replace('"sig":"', '"sig":"AAAA', 1))
    elif damage == "another key":
        signer = SigningKey.generate().public
    elif damage == "base":
        value = made(spec).as_json()
        next(iter(value["bases"].values()))["status"] += "Package: more\n\n"
        with pytest.raises(InputError, match="differs from its digest"):
            inventory.parse_inventory(value, where="inventory.json")
        return
    elif damage == "not JSON":
        path.write_text(text[: len(text) // 2])
    else:
        path.unlink()
    with pytest.raises(InputError) as error:
        inventory.read_inventory(path, signer)
    assert str(path) in str(error.value)
    assert error.value.hint
