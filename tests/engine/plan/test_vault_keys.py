"""Versions of KEKs and token keys: made once, laid on the gateway's nodes, named in its settings, taken away again."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from example_sites import example
from planned_nodes import empty, with_file

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.site.site import Site
from sovctl.gateway.settings import load_settings
from sovctl.support.canonical_json import sha256_hex

SECRETS = "/etc/sovctl/secrets"
PIN = "24681357"
PKCS11 = "pkcs11: {module: /opt/hsm.so, token_label: hsm, key_label: kek, pin: {file: secrets/hsm-pin}}"


def with_keys(site: Site, keks: str, tokens: str, more: str = "") -> Site:
    """The site with other keys in its site.yaml."""
    file = site.folder / "site.yaml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(("  vault:", "  token_keys:"))]
    place = lines.index("  clients:")
    versions = ", ".join(f"{{version: {each.strip()}}}" for each in tokens.split(","))
    lines[place:place] = [f"  vault: {{kek: [{keks}]{more}}}", f"  token_keys: [{versions}]"]
    file.write_text("\n".join(lines) + "\n")
    return Site.open(file, touches_nodes=False)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = example("lab", tmp_path / "site")
    (made.folder / "secrets/hsm-pin").write_text(PIN)
    (made.folder / "secrets/hsm-pin").chmod(0o600)
    made.credentials.ensure(made.context())
    return made


def laid(site: Site) -> dict[str, NodeFacts]:
    """Nodes that hold what lies on the controller now."""
    context, facts = site.context(), {}
    for _, node in site.spec.nodes():
        facts[node.name] = empty(node.name)
        for each in credentials_on(context, node):
            sha256 = sha256_hex(site.credentials.file(node, each.file).read_bytes())
            facts[node.name] = with_file(facts[node.name], each.path, sha256, mode=each.mode, uid=each.uid)
    return facts


def planned(site: Site, facts: dict[str, NodeFacts]) -> set[str]:
    return {each.id for each in changes(site.context(), facts) if each.kind == "credential"}


def settings(site: Site, folder: Path) -> tuple[list[tuple[int, str]], list[str]]:
    """Token keys and KEKs, as the gateway reads what `apply` writes for it."""
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site.context()), sort_keys=False))
    read = load_settings(path)
    keks = [str(kek.file or (kek.pkcs11 and kek.pkcs11.pin_file)) for kek in read.vault.keks]
    return [(key.version, str(key.file)) for key in read.all_token_keys], keks


def test_without_a_word_there_is_one_of_each(site: Site, tmp_path: Path) -> None:
    assert settings(site, tmp_path) == ([(1, f"{SECRETS}/token.key")], [f"{SECRETS}/vault.kek"])


def test_a_new_version_is_made_once_and_the_old_one_stays_as_it_is(site: Site, tmp_path: Path) -> None:
    before = {name: (site.state.keys / name).read_bytes() for name in ("token.key", "vault.kek")}
    facts = laid(site)
    site = with_keys(site, "{version: 1}, {version: 2}", "1, 2")
    assert planned(site, facts) == {"s1/credential/token-2.key", "s1/credential/vault-2.kek"}
    site.credentials.ensure(site.context())
    made = {name: (site.state.keys / name).read_bytes() for name in ("token-2.key", "vault-2.kek")}
    assert len({*before.values(), *made.values()}) == 4
    site.credentials.ensure(site.context())
    assert {**before, **made} == {name: (site.state.keys / name).read_bytes() for name in (*before, *made)}
    assert planned(site, laid(site)) == set()
    site = with_keys(site, "{version: 2}, {version: 1}", "2, 1")
    assert planned(site, laid(site)) == set()  # their order is the gateway's business
    assert settings(site, tmp_path) == (
        [(2, f"{SECRETS}/token-2.key"), (1, f"{SECRETS}/token.key")],
        [f"{SECRETS}/vault-2.kek", f"{SECRETS}/vault.kek"],
    )


def test_a_version_that_is_gone_leaves_the_nodes(site: Site) -> None:
    site = with_keys(site, "{version: 2}, {version: 1}", "2, 1")
    site.credentials.ensure(site.context())
    facts = laid(site)
    site = with_keys(site, "{version: 2}", "2")
    found = {each.id: each for each in changes(site.context(), facts) if each.kind == "credential"}
    assert found.keys() == {"s1/credential/token.key", "s1/credential/vault.kek"}
    assert [each.after for each in found.values()] == [None, None]


def test_a_hardware_token_needs_its_pin_and_no_key_of_ours(site: Site, tmp_path: Path) -> None:
    site = with_keys(site, f"{{version: 2, {PKCS11}}}, {{version: 1}}", "1")
    site.credentials.ensure(site.context())
    assert not (site.state.keys / "vault-2.kek").exists()
    pin, salt = (site.state.keys / "vault-2.pin").read_text().splitlines()
    assert (pin, len(salt)) == (PIN, 64)  # whoever has the file's digest can't try PINs on it
    assert settings(site, tmp_path)[1] == [f"{SECRETS}/vault-2.pin", f"{SECRETS}/vault.kek"]
    assert planned(site, laid(site)) == set()
    assert PIN not in yaml.safe_dump(configuration(site.context()))


def test_a_database_is_reached_through_the_wall_and_proves_who_it_is(site: Site, tmp_path: Path) -> None:
    password = "invented-password-of-the-vault"
    for name, content in (("vault-password", password), ("vault-ca.pem", "invented authority")):
        (site.folder / "secrets" / name).write_text(content)
        (site.folder / "secrets" / name).chmod(0o600)
    database = "host: 10.77.0.30, password: {file: secrets/vault-password}, ca_file: secrets/vault-ca.pem"
    site = with_keys(site, "{version: 1}", "1", f", postgresql: {{{database}}}")
    site.credentials.ensure(site.context())
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(site.context()), sort_keys=False))
    read = load_settings(path).vault
    assert read.path is None
    assert read.postgresql is not None
    assert (read.postgresql.host, read.postgresql.port) == ("10.77.0.30", 5432)
    assert str(read.postgresql.password_file) == f"{SECRETS}/vault.password"
    assert str(read.postgresql.ca_file) == "/etc/sovctl/tls/vault-ca.pem"
    assert (site.state.keys / "vault.password").read_text() == password + "\n"
    assert password not in path.read_text()
    assert planned(site, laid(site)) == set()
    node = site.spec.node(site.spec.gateway.nodes[0]) if site.spec.gateway else None
    assert node is not None
    rule = "ip daddr 10.77.0.30 tcp dport 5432 meta skuid 964 accept"
    assert rule in rules_for(site.context(), node).outbound
    assert rule not in rules_for(site.context(), site.spec.node("n1")).outbound
