"""Credentials: made once, closed, never printed, and planned when they change."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from example_sites import example
from planned_nodes import empty, with_file

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.resources.credential import credentials_on, fingerprint
from sovctl.engine.resources.resource import CREATED_BY_APPLY
from sovctl.engine.site.credentials import MIN_API_KEY_LENGTH, read_secret
from sovctl.engine.site.site import Site
from sovctl.engine.spec.types import Secret
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = example("lab", tmp_path / "site")
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


def planned(site: Site, facts: dict[str, NodeFacts]) -> list[str]:
    return [each.id for each in changes(site.context(), facts) if each.kind == "credential"]


def client_key(site: Site) -> Path:
    assert site.spec.gateway is not None
    return site.folder / (site.spec.gateway.clients[0].api_key.file or "")


def test_every_secret_on_the_controller_is_its_owners_alone(site: Site) -> None:
    files = [*site.state.keys.iterdir(), *site.state.pki.glob("*.key")]
    assert len(files) >= 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(site.state.root.stat().st_mode) == 0o700


def test_making_them_twice_changes_nothing(site: Site) -> None:
    before = {path: path.read_bytes() for path in site.state.root.rglob("*") if path.is_file()}
    site.credentials.ensure(site.context())
    assert {path: path.read_bytes() for path in site.state.root.rglob("*") if path.is_file()} == before


def test_a_plan_makes_nothing(tmp_path: Path) -> None:
    site = example("lab", tmp_path / "site")
    fingerprints = site.context().fingerprints
    assert not site.state.root.exists()
    assert ("s1", "token.key") not in fingerprints


def test_what_was_made_is_what_the_next_plan_expects(site: Site) -> None:
    assert planned(site, laid(site)) == []


def test_clients_are_known_by_hash_alone(site: Site) -> None:
    text = (site.state.keys / "gateway-clients.json").read_text()
    key = client_key(site).read_text().strip()
    assert key not in text
    assert json.loads(text)[0]["keys"][0]["sha256"] == sha256_hex(key)


def test_a_changed_api_key_is_a_change_and_apply_then_lays_it(site: Site) -> None:
    facts = laid(site)
    client_key(site).write_text("another-invented-key-of-a-client\n")
    assert planned(site, facts) == ["s1/credential/gateway-clients.json"]
    site.credentials.ensure(site.context())
    assert planned(site, facts) == ["s1/credential/gateway-clients.json"]
    assert planned(site, laid(site)) == []


def test_a_new_list_of_people_is_a_change_that_the_plan_shows_by_its_fingerprint(tmp_path: Path) -> None:
    folder = example("lab", tmp_path / "site").folder
    text = (folder / "site.yaml").read_text()
    listed = "  detect:\n    exact_data_match: {index_file: customers.edm, key_file: edm.key}\n  policy:\n"
    (folder / "site.yaml").write_text(text.replace("  policy:\n", listed, 1))
    site = Site.open(folder / "site.yaml", touches_nodes=False)
    index = site.folder / "customers.edm"
    index.write_bytes(b"the first index")
    (site.folder / "edm.key").write_text("ab" * 32)
    site.credentials.ensure(site.context())
    facts = laid(site)
    assert planned(site, facts) == []
    index.write_bytes(b"the second index")
    [change] = [each for each in changes(site.context(), facts) if each.kind == "credential"]
    assert change.id == "s1/credential/listed.edm"
    assert change.after is not None
    assert change.after["fingerprint"] == fingerprint(sha256_hex(b"the second index"))


def test_a_changed_file_of_recognizers_is_a_change(tmp_path: Path) -> None:
    folder = example("lab", tmp_path / "site").folder
    text = (folder / "site.yaml").read_text()
    listed = "  detect: {recognizer_files: [cases.yaml, contracts.yaml]}\n  policy:\n"
    (folder / "site.yaml").write_text(text.replace("  policy:\n", listed, 1))
    site = Site.open(folder / "site.yaml", touches_nodes=False)
    for name in ("cases.yaml", "contracts.yaml"):
        (site.folder / name).write_text("recognizers: []\n")
    site.credentials.ensure(site.context())
    facts = laid(site)
    assert planned(site, facts) == []
    (site.folder / "contracts.yaml").write_text("recognizers: [changed]\n")
    [change] = [each for each in changes(site.context(), facts) if each.kind == "credential"]
    assert change.id == "s1/credential/recognizers-2.yaml"


def test_a_certificate_about_to_run_out_is_a_change(site: Site) -> None:
    context, later = site.context(), datetime.now(UTC) + timedelta(days=380)
    now, then = (site.credentials.fingerprints(context, now=moment) for moment in (datetime.now(UTC), later))
    assert set(now.keys() - then.keys()) == {(node, file) for node in ("n1", "s1") for file in ("node.pem", "node.key")}
    assert all(now[name] == then[name] for name in then)


def test_the_plan_states_when_a_renewed_certificate_expires(site: Site) -> None:
    now = datetime.now(UTC)
    assert site.credentials.renewals(now=now) == {}
    reasons = site.credentials.renewals(now=now + timedelta(days=370))
    assert {"n1", "s1"} <= set(reasons)
    assert all("in 27 days; renewed 30 days before" in each for each in reasons.values())
    late = site.credentials.renewals(now=now + timedelta(days=400))
    assert all(each.startswith("expired on ") for each in late.values())
    changed = changes(replace(site.context(), renewals=reasons, fingerprints={}), laid(site))
    why = {each.id: each.why for each in changed}
    assert "in 27 days" in why["n1/credential/node.pem"]
    assert "in 27 days" not in why["n1/credential/ca.pem"]


def test_a_lost_root_makes_every_certificate_anew(site: Site) -> None:
    facts = laid(site)
    (site.state.pki / "ca.key").unlink()
    found = {each.id: each for each in changes(site.context(), facts) if each.kind == "credential"}
    assert found["n1/credential/ca.pem"].after == {"fingerprint": CREATED_BY_APPLY}
    assert {"n1/credential/node.pem", "s1/credential/node.key"} <= found.keys()


def test_a_short_key_is_refused_before_a_plan_and_never_shown(site: Site) -> None:
    short = "x7" * (MIN_API_KEY_LENGTH // 2 - 1)
    client_key(site).write_text(short)
    with pytest.raises(InputError, match=f"at least {MIN_API_KEY_LENGTH} characters, got {len(short)}") as caught:
        site.context()
    assert short not in str(caught.value) + caught.value.hint


def test_a_secret_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("invented-secret-of-a-client-1234")
    file.chmod(0o640)
    with pytest.raises(InputError, match="mode 0640") as caught:
        read_secret(Secret(file="key"), tmp_path, "here")
    assert "invented" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(("content", "words"), [(b"  \n", "empty"), (b"\xff\xfe\x00", "not UTF-8 text")])
def test_an_unusable_secret_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(InputError, match=words):
        read_secret(Secret(file="key"), tmp_path, "here")


def test_a_secret_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_secret(Secret(file="key"), tmp_path, "here")
    monkeypatch.delenv("SOVCTL_TEST_KEY", raising=False)
    with pytest.raises(InputError, match="SOVCTL_TEST_KEY"):
        read_secret(Secret(env="SOVCTL_TEST_KEY"), tmp_path, "here")
