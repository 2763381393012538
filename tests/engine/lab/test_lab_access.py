"""What a lab hands to the person, the requirements, and the words of the command line."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sovctl.cli.commands import lab as lab_command
from sovctl.cli.main import app
from sovctl.engine.lab import layout
from sovctl.engine.lab.layout import Lab
from sovctl.engine.lab.lifecycle import lifecycle, requirements
from sovctl.engine.lab.node import ssh_access as access
from sovctl.engine.lab.progress import Stopwatch
from sovctl.support.errors import Busy, ExitCode, InputError, MissingTool

needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not on this machine")
NO_SUCH_LAB = "sovunit-absent"


@needs_ssh_keygen
def test_keys_and_secrets_that_are_there_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        key = access.ensure_key(tmp_path)
        access.ensure_secrets(tmp_path)
        files = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert key.startswith("ssh-ed25519 ")
    assert access.ensure_key(tmp_path) == key
    assert {path: path.read_text() for path in files} == files


@needs_ssh_keygen
def test_private_files_are_closed_to_others(tmp_path: Path) -> None:
    access.ensure_key(tmp_path)
    access.ensure_secrets(tmp_path)
    for name in ("access/id_ed25519", "secrets/client-key", "secrets/cloud-key"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    client, cloud = ((tmp_path / "secrets" / name).read_text() for name in access.SECRETS)
    assert client != cloud


def test_the_cloud_accepts_every_directorys_key(tmp_path: Path) -> None:
    for name in ("one", "two", "one"):
        if not (tmp_path / name).exists():
            access.ensure_secrets(tmp_path / name)
        access.allow_cloud_key(tmp_path / name, tmp_path / "api-keys")
    keys = (tmp_path / "api-keys").read_text().split()
    assert keys == [(tmp_path / name / "secrets/cloud-key").read_text().strip() for name in ("one", "two")]


def test_another_labs_namespace_is_written_into_its_site_and_nothing_else() -> None:
    preset = "# network_namespace is the lab's\naccess:\n  network_namespace: sovlab  # the lab\n  user: ops\n"
    expected = preset.replace("network_namespace: sovlab", "network_namespace: sovtest")
    assert access.site_text(preset, namespace="sovtest") == expected


def test_a_site_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("mine")
    assert access.ensure_site(tmp_path, preset="lab", namespace="sovtest") == "kept"
    assert (tmp_path / "site.yaml").read_text() == "mine"


def test_every_requirement_is_checked_and_has_a_remedy() -> None:
    found = requirements.check_all()
    assert [each.name for each in found] == [each.name for each in requirements.REQUIREMENTS]
    assert all(each.remedy and each.found for each in found)
    assert len({each.name for each in found}) == len(found)


def test_missing_requirements_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = {each.name: each for each in requirements.check_all()}
    assert (found["debian"].is_met, found["veth"].is_met) == (False, False)
    assert "not installed" in found["veth"].found
    with pytest.raises(MissingTool, match=r"this machine cannot run a lab; missing: .*debian"):
        requirements.require()


def test_a_plain_user_is_told_to_use_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for touch in (
        lambda: lifecycle.require_up(Lab(NO_SUCH_LAB)),
        lambda: lifecycle.down(Lab(NO_SUCH_LAB), progress=print),
    ):
        with pytest.raises(MissingTool, match="root is required, got user id 1000") as caught:
            touch()
        assert caught.value.hint == "run it with sudo"


def test_a_small_machine_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "MEMORY_GIB", 1 << 20)
    monkeypatch.setattr(requirements, "DISK_GIB", 1 << 20)
    found = {each.name: each for each in requirements.check_all()}
    assert not found["memory"].is_met
    assert "GiB free at /" in found["disk"].found


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with (
        lifecycle.exclusive(tmp_path / "lock", "lab x"),
        pytest.raises(Busy, match="another sovctl uses lab x"),
        lifecycle.exclusive(tmp_path / "lock", "lab x"),
    ):
        pass
    with lifecycle.exclusive(tmp_path / "lock", "lab x"):
        pass


def test_who_shares_the_cache_waits_for_it(tmp_path: Path) -> None:
    said: list[str] = []
    done = threading.Event()

    def second() -> None:
        with lifecycle.exclusive(tmp_path / "lock", "the cache", waits=said.append):
            done.set()

    with lifecycle.exclusive(tmp_path / "lock", "the cache"):
        thread = threading.Thread(target=second)
        thread.start()
        deadline = time.monotonic() + 10
        while not said:
            assert time.monotonic() < deadline
        assert not done.is_set()
    thread.join()
    assert done.is_set()
    assert said == ["waiting for another sovctl that uses the cache"]


def test_what_needs_a_lab_says_how_to_have_one() -> None:
    with pytest.raises(InputError, match=f"lab '{NO_SUCH_LAB}' is not up") as caught:
        lifecycle.require_up(Lab(NO_SUCH_LAB))
    assert caught.value.hint == "sovctl lab up"


def test_progress_carries_the_seconds_since_the_start() -> None:
    said: list[str] = []
    times = iter([10.0, 12.25])
    Stopwatch(said.append, clock=lambda: next(times))("step")
    assert said == ["   2.2 s  step"]


def test_the_words_default_to_the_default_lab() -> None:
    assert lab_command.DEFAULT_NAME == layout.DEFAULT_NAME


@pytest.mark.parametrize("word", ["check", "up", "status", "shell", "fault", "fabric", "capture", "down"])
def test_every_word_has_help_with_an_example(word: str) -> None:
    result = CliRunner().invoke(app, ["lab", word, "--help"])
    assert result.exit_code == 0
    assert f"Example: sovctl lab {word}" in " ".join(result.output.split())


def test_the_table_of_faults_is_printed_as_json() -> None:
    result = CliRunner().invoke(app, ["lab", "fault", "--list", "--json"])
    assert {"name", "part", "shows", "expects"} == set(json.loads(result.stdout)[0])


@pytest.mark.parametrize("words", [["shell", "n1"], ["capture"], ["fault", "n1", "nvlink-down"]])
def test_a_lab_that_is_not_up_is_bad_input(words: list[str]) -> None:
    result = CliRunner().invoke(app, ["lab", *words, "--name", NO_SUCH_LAB])
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == ExitCode.BAD_INPUT


def test_the_state_of_no_lab_is_not_up_and_says_simulated() -> None:
    result = CliRunner().invoke(app, ["lab", "status", "--name", NO_SUCH_LAB, "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == ExitCode.FAILURE
    assert (found["is_up"], found["simulated"]) == (False, True)
    assert {part["state"] for part in found["parts"]} == {"off"}
