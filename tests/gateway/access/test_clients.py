"""The clients files, and what a key or a certificate lets in."""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from access_givens import entry, settings_with
from clients_digests import digest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.access.authenticator import Authenticator, bearer
from sovctl.gateway.access.certificate import Peer
from sovctl.gateway.access.clients import Client, dump_clients, load_clients
from sovctl.gateway.access.principal import Method, make_principal
from sovctl.gateway.settings import SurfaceName, TeamSettings
from sovctl.support.errors import InputError


def later() -> float:
    """An hour from now; asked when a test runs, which may be an hour after this file was read."""
    return time.time() + 3600


def test_a_key_opens_for_its_client_alone(tmp_path: Path) -> None:
    authenticator = Authenticator(
        settings_with(tmp_path, [entry("one", "first", routes=["a"]), entry("two", "second")])
    )
    one, two = authenticator.known("first"), authenticator.known("second")
    assert one is not None
    assert two is not None
    assert (one.name, two.name, one.method) == ("one", "two", Method.API_KEY)
    assert (one.may_use("a"), one.may_use("b"), two.may_use("b")) == (True, False, True)
    for wrong in (None, "", "third", "First", hashlib.sha256(b"first").hexdigest()):
        assert authenticator.known(wrong) is None


@pytest.mark.parametrize(
    ("header", "credential"),
    [
        ("Bearer first", "first"),
        ("bearer  second ", "second"),
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("first", None),
        ("Basic first", None),
    ],
)
def test_only_bearer_credentials_are_taken(header: str | None, credential: str | None) -> None:
    assert bearer(header) == credential


def test_a_key_ends_to_the_second(tmp_path: Path) -> None:
    end = datetime(2027, 1, 1, tzinfo=UTC)
    keys = [{"sha256": hashlib.sha256(b"k").hexdigest(), "expires_at": end.isoformat()}]
    now = [end.timestamp() - 1]
    authenticator = Authenticator(
        settings_with(tmp_path, [{"name": "branch", "tenant": "retail", "keys": keys}]), clock=lambda: now[0]
    )
    assert authenticator.known("k")
    now[0] = end.timestamp()
    assert authenticator.known("k") is None


def test_while_a_key_is_replaced_both_open(tmp_path: Path) -> None:
    keys = [{"sha256": hashlib.sha256(key).hexdigest()} for key in (b"old", b"new")]
    authenticator = Authenticator(settings_with(tmp_path, [{"name": "branch", "tenant": "retail", "keys": keys}]))
    old, new = authenticator.known("old"), authenticator.known("new")
    assert old is not None
    assert new is not None
    assert old.name == new.name
    assert old.key_id != new.key_id


def test_a_certificate_opens_by_a_name_in_it_until_it_ends(tmp_path: Path) -> None:
    authenticator = Authenticator(
        settings_with(tmp_path, [{"name": "rag", "tenant": "retail", "certificates": ["dns:rag.bank"]}])
    )
    peer = Peer(("sha256:00", "dns:rag.bank"), "t", later())
    found = authenticator.known(None, peer)
    assert found is not None
    assert (found.name, found.method) == ("rag", Method.CERTIFICATE)
    assert authenticator.known(None, Peer(("cn:rag.bank",), "t", later())) is None
    assert authenticator.known(None, Peer(peer.names, "t", 0)) is None


def test_a_wrong_key_is_not_made_good_by_a_certificate(tmp_path: Path) -> None:
    authenticator = Authenticator(settings_with(tmp_path, [entry(certificates=["cn:branch"])]))
    peer = Peer(("cn:branch",), "t", later())
    assert authenticator.known(None, peer)
    assert authenticator.known("wrong", peer) is None


def test_neither_keys_nor_digests_are_printed(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"k").hexdigest()
    client = Client.model_validate({"name": "branch", "tenant": "retail", "keys": [{"sha256": digest}]})
    assert digest not in repr(client)
    assert digest not in repr(Authenticator(settings_with(tmp_path, [entry()])).known("k"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON list of clients"),
        ("[" * 100_000, "not a JSON list of clients"),
        ("{}", "invalid clients: "),
        ("[]", "no client is configured"),
        (json.dumps([entry(), entry(key="other")]), "every name once, got branch twice"),
        (json.dumps([entry("a"), entry("b")]), "every key once"),
        (
            json.dumps([entry("a", certificates=["cn:x"]), entry("b", "l", certificates=["cn:x"])]),
            "every certificate once",
        ),
        (json.dumps([entry(key_sha256="in-clear")]), "key_sha256"),
        (json.dumps([entry(secret="x")]), "secret"),
        (json.dumps([entry(team="nobody")]), "client branch: expected a team of tenant retail, got none of that name"),
        (json.dumps([entry(team="cards", tenant="group")]), "expected a team of tenant group, got one of retail"),
        (json.dumps([{"name": "a", "tenant": "b"}]), "has neither a key nor a certificate"),
        (json.dumps([entry(keys=[{"sha256": "0" * 64, "expires_at": "2027-01-01T00:00:00"}])]), "timezone"),
    ],
)
def test_a_wrong_clients_file_is_refused_without_its_content(tmp_path: Path, content: str, message: str) -> None:
    settings = settings_with(tmp_path, content, teams=[{"name": "cards", "tenant": "retail"}])
    with pytest.raises(InputError, match=message) as caught:
        Authenticator(settings)
    assert "in-clear" not in str(caught.value)
    assert hashlib.sha256(b"k").hexdigest() not in str(caught.value)


def test_all_problems_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, [entry("a"), entry("a", "l", team="x"), {"name": "b", "tenant": "c"}])
    with pytest.raises(InputError) as caught:
        Authenticator(settings)
    assert str(caught.value).count("; ") == 2  # three problems


def test_what_a_file_says_after_a_change_counts_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, [entry("one", "first"), entry("two", "second")])
    authenticator = Authenticator(settings)

    def write(content: str) -> None:
        settings.clients_file.write_text(content)
        settings.clients_sha256[:] = [digest(settings.clients_file)]

    write(json.dumps([entry("one", "first")]))
    authenticator.reload()
    assert authenticator.known("second") is None
    write("[")
    with pytest.raises(InputError):
        authenticator.reload()
    assert authenticator.known("first")
    assert authenticator.wrong() == {"clients": "invalid file; the previous clients stay valid"}
    write("[]")
    authenticator.reload()
    assert authenticator.known("first") is None
    assert authenticator.wrong() == {}


def test_a_local_file_adds_clients_and_may_take_no_name(tmp_path: Path) -> None:
    local, digests = tmp_path / "local.json", tmp_path / "local.sha256"
    access = {"local_clients_file": str(local), "local_clients_sha256_file": str(digests)}
    settings = settings_with(tmp_path, [entry()], **access)
    authenticator = Authenticator(settings)

    def write(*clients: dict[str, Any]) -> None:
        local.write_text(json.dumps(clients))
        digests.write_text(digest(local))

    write(entry("here", "local"))
    authenticator.reload()
    assert authenticator.known("local")
    write(entry("branch", "local"))
    with pytest.raises(InputError, match="every name once"):
        authenticator.reload()
    local.unlink()
    authenticator.reload()
    assert authenticator.known("local") is None
    assert authenticator.known("k")


NAMES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True)
SOME_SURFACES = st.lists(st.sampled_from([*SurfaceName]), max_size=3, unique=True)


@given(NAMES, NAMES, SOME_SURFACES, SOME_SURFACES, st.booleans(), st.booleans())
def test_a_team_only_narrows(
    own: list[str],
    teams: list[str],
    surfaces: list[SurfaceName],
    team_surfaces: list[SurfaceName],
    may: bool,
    team_may: bool,
) -> None:
    client = Client(name="a", tenant="t", team="x", routes=own, surfaces=surfaces, may_restore=may)
    team = TeamSettings(name="x", tenant="t", routes=teams, surfaces=team_surfaces, may_restore=team_may)

    def principal(team: TeamSettings | None) -> Any:
        return make_principal("a", tenant="t", method=Method.API_KEY, key_id="", rights=client, team=team)

    alone, member = principal(None), principal(team)
    for model in ("a", "b", "c", "d"):
        assert member.may_use(model) == (alone.may_use(model) and (not teams or model in teams))
    for surface in SurfaceName:
        wanted = alone.may_use_surface(surface) and (not team_surfaces or surface in team_surfaces)
        assert member.may_use_surface(surface) == wanted
    assert member.may_restore == (may and team_may)


@given(NAMES, st.booleans(), st.integers(0, 3))
def test_a_written_file_reads_back_the_same(tmp_path_factory: Any, routes: list[str], admin: bool, keys: int) -> None:
    path = tmp_path_factory.mktemp("clients") / "clients.json"
    now = datetime(2026, 11, 21, tzinfo=UTC)
    entries = [{"sha256": f"{n:064x}", "created_at": now, "expires_at": now + timedelta(days=n)} for n in range(keys)]
    client = Client.model_validate(
        {"name": "a", "tenant": "t", "routes": routes, "is_admin": admin, "keys": entries, "certificates": ["cn:x y"]}
    )
    path.write_text(dump_clients([client]))
    assert load_clients(path) == [client]
