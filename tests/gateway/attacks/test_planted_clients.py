"""A clients file that nobody planned gives no access: not at the start, not at a reload, not beside the site's own."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from access_givens import MONITOR_KEY, entry
from clients_digests import digest
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from sovctl.gateway.access.pins import PinInSettings
from sovctl.gateway.settings import load_settings
from sovctl.support.errors import InputError

OWN, PLANTED = "test-key-of-the-planned-client", "test-key-of-a-planted-client"
WORD = "expected the file with SHA-256"


def clients(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text(json.dumps([*entries, entry("monitoring", MONITOR_KEY, is_monitor=True)]))
    return path


def plant(path: Path) -> None:
    path.write_text(json.dumps([entry("planted", PLANTED, is_admin=True), entry("own", OWN)]))


def pinned(start: Callable[..., Any], folder: Path, **changes: Any) -> tuple[Any, Path]:
    """A gateway whose settings name its clients file, and that file."""
    path = clients(folder / "planned.json", entry("own", OWN))
    access = {"reload_every_s": 0.05, **changes.pop("access", {})}
    return start(clients_file=str(path), clients_sha256=digest(path), access=access, **changes), path


def status(gateway: Any, key: str) -> int:
    found: int = gateway.request("GET", "/v1/models", headers={"authorization": f"Bearer {key}"})[0]
    return found


def test_a_planted_file_is_not_served_and_the_old_clients_stay(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    plant(path)
    until(lambda: WORD in gateway.log(), "the refusal")
    assert (status(gateway, PLANTED), status(gateway, OWN)) == (401, 200)
    assert "clients" in json.loads(gateway.request("GET", "/readyz")[2])["wrong"]


def test_a_gateway_does_not_start_with_a_planted_file(start: Callable[..., Any], tmp_path: Path) -> None:
    path = clients(tmp_path / "planned.json", entry("own", OWN))
    named = digest(path)
    plant(path)
    gateway = start(clients_file=str(path), clients_sha256=named, wait=False)
    assert gateway.process.wait(60) != 0
    assert WORD in gateway.log()


def test_a_gateway_does_not_start_without_a_digest(start: Callable[..., Any], tmp_path: Path) -> None:
    path = clients(tmp_path / "unnamed.json", entry("own", OWN))
    gateway = start(clients_file=str(path), clients_sha256=[], wait=False)
    assert gateway.process.wait(60) != 0
    assert "the settings name no digest" in gateway.log()
    code, said = command("check", "--config", str(gateway.config))
    assert code != 0
    assert "the settings name no digest" in said
    assert command("keys", "pin", "--config", str(gateway.config))[0] == 0
    assert load_settings(gateway.config).clients_sha256 == [digest(path)]


def test_a_gateway_does_not_start_without_a_file_of_digests_of_local_clients(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    gateway = start(access={"local_clients_file": str(tmp_path / "local.json")}, wait=False)
    assert gateway.process.wait(60) != 0
    assert "expected local_clients_sha256_file with it, got none" in gateway.log()


def test_a_reload_without_a_digest_keeps_the_old_clients(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    plant(path)
    settings = yaml.safe_load(gateway.config.read_text())
    del settings["clients_sha256"]
    gateway.config.write_text(yaml.safe_dump(settings))
    until(lambda: "the settings name no digest" in gateway.log(), "the refusal")
    assert (status(gateway, PLANTED), status(gateway, OWN)) == (401, 200)


def test_a_restarted_worker_serves_neither_planted_nor_old_clients(start: Callable[..., Any], tmp_path: Path) -> None:
    """The supervisor still has the clients of its start in memory; a new worker must not serve them."""
    gateway, path = pinned(start, tmp_path, workers=2, access={"reload_every_s": 3600})
    planned, before = path.read_text(), workers(gateway)
    plant(path)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(lambda: gateway.log().count("worker did not start") >= 2, "the refusals of both workers")
    assert WORD in gateway.log()
    with pytest.raises(OSError):
        status(gateway, OWN)
    path.write_text(planned)
    until(lambda: is_served(gateway), "the workers, after the planned file is back")
    assert status(gateway, PLANTED) == 401


def workers(gateway: Any) -> list[int]:
    children = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text()
    return [int(pid) for pid in children.split()]


def is_served(gateway: Any) -> bool:
    try:
        return status(gateway, OWN) == 200
    except OSError:
        return False


def test_a_reload_with_a_planted_file_keeps_the_old_clients(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    plant(path)
    settings = yaml.safe_load(gateway.config.read_text())
    settings["limits"] = {"max_depth": 32}
    gateway.config.write_text(yaml.safe_dump(settings))
    until(lambda: WORD in gateway.log(), "the refusal")
    assert (status(gateway, PLANTED), status(gateway, OWN)) == (401, 200)


def test_a_planned_change_of_both_is_served(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    plant(path)
    settings = yaml.safe_load(gateway.config.read_text())
    gateway.config.write_text(yaml.safe_dump({**settings, "clients_sha256": digest(path)}))
    until(lambda: status(gateway, PLANTED) == 200, "the new clients")


@pytest.mark.parametrize("before", [None, "another digest"])
def test_a_planted_local_file_is_not_served(start: Callable[..., Any], tmp_path: Path, before: str | None) -> None:
    local, digests = tmp_path / "local.json", tmp_path / "local.sha256"
    if before is not None:
        digests.write_text("0" * 64 + "\n")
    access = {"local_clients_file": str(local), "local_clients_sha256_file": str(digests)}
    gateway, _ = pinned(start, tmp_path, access=access)
    plant(local)
    until(lambda: WORD in gateway.log(), "the refusal")
    assert (status(gateway, PLANTED), status(gateway, OWN)) == (401, 200)


def command(*words: str) -> tuple[int, str]:
    done = warm_processes.gateway(*words)
    return done.returncode, done.stdout + done.stderr


def created(text: str) -> str:
    return next(line.split()[1] for line in text.splitlines() if line.startswith("key:"))


def test_commands_change_file_and_digest_of_a_gateway_on_one_machine(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    comment = "# a remark of the operator\n"
    gateway.config.write_text(comment + gateway.config.read_text())
    code, said = command("keys", "create", "second", "--tenant", "retail", "--config", str(gateway.config))
    assert code == 0, said
    assert gateway.config.read_text().startswith(comment)
    assert load_settings(gateway.config).clients_sha256 == [digest(path)]
    until(lambda: status(gateway, created(said)) == 200, "the new key")
    assert command("keys", "revoke", "second", "--config", str(gateway.config))[0] == 0
    until(lambda: status(gateway, created(said)) == 401, "the revocation")
    assert status(gateway, OWN) == 200


def test_commands_change_file_and_digest_of_local_clients(start: Callable[..., Any], tmp_path: Path) -> None:
    access = {"local_clients_file": str(tmp_path / "l.json"), "local_clients_sha256_file": str(tmp_path / "l.sha256")}
    gateway, _ = pinned(start, tmp_path, access=access)
    code, said = command("keys", "create", "second", "--tenant", "retail", "--config", str(gateway.config))
    assert code == 0, said
    until(lambda: status(gateway, created(said)) == 200, "the new key")
    assert (tmp_path / "l.sha256").read_text() == digest(tmp_path / "l.json") + "\n"


def test_a_command_does_not_approve_a_planted_file_and_pin_does(start: Callable[..., Any], tmp_path: Path) -> None:
    gateway, path = pinned(start, tmp_path)
    plant(path)
    code, said = command("keys", "create", "second", "--tenant", "retail", "--config", str(gateway.config))
    assert code != 0
    assert WORD in said
    assert command("keys", "pin", "--config", str(gateway.config))[0] == 0
    until(lambda: status(gateway, PLANTED) == 200, "the approved clients")


def test_init_names_the_file_that_it_creates(tmp_path: Path) -> None:
    folder = tmp_path / "gw"
    assert command("init", str(folder), "--pool", "http://127.0.0.1:9/v1")[0] == 0
    assert load_settings(folder / "gateway.yaml").clients_sha256 == [digest(folder / "clients.json")]
    plant(folder / "clients.json")
    code, said = command("check", "--config", str(folder / "gateway.yaml"))
    assert code != 0
    assert WORD in said


_DIGESTS = st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), min_size=1, max_size=2)


@given(
    before=st.sampled_from(["", "clients_sha256: x\n", "clients_sha256: [a,\n  b]\n", "clients_sha256:\n- a\n- b\n"]),
    head=st.sampled_from(["", "# remark\n", "site: lab\n"]),
    tail=st.sampled_from(["", "listen:\n  port: 1\n", "workers: 2", "# end"]),
    digests=_DIGESTS,
)
def test_only_the_digests_in_the_settings_change(
    tmp_path_factory: pytest.TempPathFactory, before: str, head: str, tail: str, digests: list[str]
) -> None:
    path = tmp_path_factory.mktemp("pin") / "gateway.yaml"
    path.write_text(f"{head}clients_file: c\n{before}{tail}")
    was = yaml.safe_load(path.read_text())
    try:
        PinInSettings(path).write(digests)
    except InputError:
        assert yaml.safe_load(path.read_text()) == was
        return
    named = digests[0] if len(digests) == 1 else digests
    found = yaml.safe_load(path.read_text())
    assert found.pop("clients_sha256") == named
    was.pop("clients_sha256", None)
    assert found == was
    assert all(line in path.read_text() for line in (head, tail))
