"""`sovctl gateway keys`: keys are shown once, kept as digests, replaced with an overlap, revoked at once."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.access import keys
from sovctl.gateway.access.clients import Client, load_clients
from sovctl.gateway.access.pins import pin_of
from sovctl.gateway.commands.main import main
from sovctl.gateway.settings.load import load_settings
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 21, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def config(tmp_path: Path, write_config: Callable[..., Path]) -> Path:
    path = write_config(tmp_path)
    settings = yaml.safe_load(path.read_text())
    settings["access"] = {
        "local_clients_file": str(tmp_path / "state/local.json"),
        "local_clients_sha256_file": str(tmp_path / "local.sha256"),
    }
    path.write_text(yaml.safe_dump(settings))
    return path


@pytest.fixture
def run(config: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run_here(*arguments: str) -> tuple[int, str, str]:
        code = main(["keys", *arguments, "--config", str(config)])
        out, err = capfd.readouterr()
        return code, out, err

    return run_here


def local(config: Path) -> list[Client]:
    return load_clients(config.parent / "state/local.json")


def test_a_key_is_shown_once_and_kept_as_a_digest(run: Any, config: Path) -> None:
    code, out, _ = run("create", "branch-2", "--tenant", "retail", "--route", "inside", "--no-restore", "--json")
    made = json.loads(out)
    assert code == 0
    assert made["key"].startswith("sovctl_")
    (client,) = local(config)
    assert client.keys[0].sha256 == hashlib.sha256(made["key"].encode()).hexdigest()
    assert (client.routes, client.may_restore, client.is_admin) == (["inside"], False, False)
    path = config.parent / "state/local.json"
    assert made["key"] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    _, listed, _ = run("list")
    assert made["key"] not in listed
    assert made["key_id"] in listed
    assert "branch-2" in listed
    assert "audit" in listed  # from clients_file


def test_a_key_for_a_model_that_is_not_there_is_not_made(run: Any, config: Path) -> None:
    code, out, err = run("create", "branch-2", "--tenant", "retail", "--route", "insde")
    assert (code, out) == (3, "")
    assert err.startswith("sovctl: --route: expected one of ")
    assert not (config.parent / "state/local.json").exists()


def test_a_rotated_client_has_both_keys_for_the_overlap(run: Any, config: Path) -> None:
    first = json.loads(run("create", "app", "--tenant", "retail", "--json")[1])
    second = json.loads(run("rotate", "app", "--grace-period", "2h", "--json")[1])
    new, old = local(config)[0].keys
    assert (new.key_id, old.key_id) == (second["key_id"], first["key_id"])
    assert new.expires_at is not None
    assert old.expires_at is not None
    assert timedelta(hours=1) < old.expires_at - datetime.now(UTC) <= timedelta(hours=2)
    assert new.expires_at - datetime.now(UTC) > timedelta(days=364)


def test_a_revoked_key_is_gone_and_the_other_stays(run: Any, config: Path) -> None:
    first = json.loads(run("create", "app", "--tenant", "retail", "--json")[1])
    run("rotate", "app")
    assert run("revoke", "app", "--key", first["key_id"])[0] == 0
    assert len(local(config)[0].keys) == 1
    assert run("revoke", "app")[0] == 0
    assert local(config) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "branch", "--tenant", "retail"), "every name once, got branch twice"),
        (("create", "Wrong", "--tenant", "retail"), "name: "),
        (("create", "app", "--tenant", "retail", "--team", "none"), "expected a team of tenant retail"),
        (("create", "app", "--tenant", "retail", "--expires-in", "soon"), "expected a time such as 90d"),
        (("rotate", "app"), "no client app in this file"),
        (("revoke", "app"), "no client app in this file"),
        (("revoke", "branch"), "branch is a client of site.yaml"),
        (("rotate", "branch", "--grace-period", "never"), "expected a duration such as 7d"),
    ],
)
def test_what_cannot_be_done_changes_nothing(run: Any, config: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (3, "")
    assert message in err
    assert not (config.parent / "state/local.json").exists()


def test_concurrent_edits_of_the_clients_file_both_succeed(config: Path) -> None:
    def create(number: int) -> int:
        command = [sys.executable, "-m", "sovctl.gateway", "keys", "create", f"app-{number}", "--tenant", "retail"]
        return subprocess.run([*command, "--config", str(config)], capture_output=True, timeout=60).returncode

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(create, range(4))) == [0] * 4
    assert {client.name for client in local(config)} == {f"app-{number}" for number in range(4)}


def test_a_broken_file_is_left_as_it_is(run: Any, config: Path) -> None:
    path = config.parent / "state/local.json"
    path.parent.mkdir()
    path.write_text("[{")
    assert run("create", "app", "--tenant", "retail")[0] == 3
    assert path.read_text() == "[{"


@given(st.lists(st.sampled_from(["rotate", "revoke-oldest", "day"]), max_size=12), st.integers(0, 5))
def test_whatever_is_done_the_newest_key_is_valid_and_no_old_one_outlives_its_overlap(
    steps: list[str], overlap_days: int
) -> None:
    now = NOW
    _, clients = keys.create([], Client(name="a", tenant="t"), now=now, expires_in=100 * DAY)
    replaced_at: dict[str, datetime] = {}
    for step in steps:
        client = clients[0]
        if step == "day":
            now += DAY
        elif step == "rotate":
            replaced_at |= {key.key_id: replaced_at.get(key.key_id, now) for key in client.keys}
            _, clients = keys.rotate(clients, "a", now=now, expires_in=100 * DAY, grace_period=overlap_days * DAY)
        elif len(client.keys) > 1:
            clients = keys.revoke(clients, "a", key_id=client.keys[-1].key_id)
        newest, *older = clients[0].keys
        assert newest.is_valid(now)
        for key in older:
            assert key.is_valid(now) == (now < replaced_at[key.key_id] + overlap_days * DAY)


@pytest.mark.parametrize(("text", "hours"), [("90d", 2160), ("12h", 12), ("60m", 1)])
def test_durations(text: str, hours: int) -> None:
    assert keys.parse_duration(text) == timedelta(hours=hours)


@given(st.text(max_size=8).filter(lambda text: text != "never"))
def test_what_is_no_duration_is_refused(text: str) -> None:
    try:
        found = keys.parse_duration(text)
    except InputError:
        return
    assert found
    assert text[-1] in "dhm"


def test_a_key_that_root_makes_belongs_to_whom_the_folder_belongs(run: Any, config: Path) -> None:
    folder = config.parent / "state"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12345)
    run("create", "app", "--tenant", "retail")
    assert (folder / "local.json").stat().st_uid == (12345 if os.geteuid() == 0 else os.geteuid())


@pytest.mark.parametrize("is_local", [True, False])
def test_an_edit_reads_the_digest_under_the_lock(config: Path, is_local: bool) -> None:
    if not is_local:
        content = yaml.safe_load(config.read_text())
        del content["access"]
        config.write_text(yaml.safe_dump(content))
    settings = load_settings(config)
    path = settings.access.local_clients_file or settings.clients_file
    for number in (1, 2):  # with the settings that were read before the first edit, as a waiting process has them
        with keys.edit(path, settings, others=[], pin=pin_of(settings, config)) as clients:
            _, clients[:] = keys.create(
                clients, Client(name=f"app-{number}", tenant="retail"), now=NOW, expires_in=None
            )
    assert {"app-1", "app-2"} <= {client.name for client in load_clients(path)}
