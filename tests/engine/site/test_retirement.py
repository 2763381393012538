"""The registry of nodes on the controller, and the retirement of removed ones: certificate, key, records, ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from example_sites import example

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.lifecycle import certificate_store
from sovctl.engine.site import members
from sovctl.engine.site.applied import Applied, keep
from sovctl.engine.site.retirement import forget
from sovctl.engine.site.site import Site
from sovctl.engine.spec import Node
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError

GONE = Node(name="old-1", address=IPv4Address("192.0.2.250"))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose registry has a node that site.yaml does not contain."""
    made = example("bank-hybrid", tmp_path / "bank")
    made.state.prepare()
    members.register(made.state.root, {GONE.name: GONE}, made.spec, [node.name for _, node in made.spec.nodes()])
    made.credentials.authority.issue(GONE.name, GONE.address, now=datetime.now(UTC))
    return made


def test_a_member_that_site_yaml_lacks_is_removed_and_reachable(site: Site) -> None:
    assert site.removed() == (GONE,)
    assert site.reachable.node(GONE.name) == GONE
    assert site.context().removed == (GONE,)
    with pytest.raises(KeyError):
        site.spec.node(GONE.name)


def test_a_renamed_node_is_not_removed(site: Site) -> None:
    _, first = site.spec.nodes()[0]
    renamed = {"former-name": Node(name="former-name", address=first.address)}
    assert members.removed(renamed, site.spec) == ()


def test_without_a_registry_the_newest_applied_description_has_the_members(tmp_path: Path) -> None:
    made = example("bank-hybrid", tmp_path / "bank")
    text = b"node_groups:\n- name: old\n  platform: service\n  nodes: [{name: old-1, address: 192.0.2.250}]\n"
    applied = Applied("20261121T090000.000Z-aa", sha256_hex(text), "s" * 64, "p" * 64, "0.1.0", {})
    keep(made.state.applied, applied, text)
    assert made.removed() == (GONE,)


def test_an_edited_registry_is_an_error(site: Site) -> None:
    (site.state.root / members.FILE).write_text('{"nodes": ["old-1"]}')
    with pytest.raises(InputError, match="unreadable registry of nodes"):
        site.removed()


def test_a_forgotten_node_is_revoked_recorded_and_gone(site: Site) -> None:
    authority = site.credentials.authority
    serial = x509.load_pem_x509_certificate((site.state.pki / "old-1.pem").read_bytes()).serial_number
    site.state.trees.mkdir(parents=True)
    (site.state.trees / "old-1.json").write_text("{}")
    certificates = site.state.root / certificate_store.FOLDER
    certificates.mkdir()
    (certificates / "old-1.json").write_text("{}")
    revoked = forget(site, "old-1", reason="destroyed")
    assert revoked is not None
    assert not list(certificates.iterdir()), "another node of this name is not certified"
    assert revoked.startswith(f"{serial:x} until ")
    listed = x509.load_pem_x509_crl(authority.revoked_file.read_bytes())
    root = x509.load_pem_x509_certificate(authority.certificate_file.read_bytes())
    assert [each.serial_number for each in listed] == [serial]
    assert listed.is_signature_valid(root.public_key())  # type: ignore[arg-type]
    assert not list(site.state.pki.glob("old-1.*"))
    assert not list(site.state.trees.glob("old-1.*"))
    assert site.removed() == ()
    [record] = [each.record for each in LedgerReader(site.state.ledger).entries()]
    wanted = {"type": "node-removed", "node": "old-1", "event": "forgotten", "reason": "destroyed"}
    assert wanted.items() <= record.items()


def test_earlier_revocations_stay_in_the_list(site: Site) -> None:
    authority = site.credentials.authority
    authority.issue("old-2", IPv4Address("192.0.2.251"), now=datetime.now(UTC))
    assert authority.revoke("old-2", now=datetime.now(UTC))
    forget(site, "old-1", reason="destroyed")
    assert len(x509.load_pem_x509_crl(authority.revoked_file.read_bytes())) == 2
    assert authority.revoke("old-2", now=datetime.now(UTC)) is None


@pytest.mark.parametrize("name", ["gpu-1", "no-such-node"])
def test_a_node_of_site_yaml_cannot_be_forgotten(site: Site, name: str) -> None:
    with pytest.raises(InputError, match="expected a removed node"):
        forget(site, name, reason="by mistake")
    assert site.removed() == (GONE,)
