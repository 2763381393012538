"""Answers of gateways to a drain: an earlier version cannot drain, and every other failure stops the wave."""

from __future__ import annotations

from pathlib import Path

import pytest
import warm_processes
import yaml

from sovctl.engine.apply.availability.drain import is_unable
from sovctl.engine.apply.remote import SSH_FAILED, Answer


def gateway(*arguments: str) -> Answer:
    """Run the gateway's own program."""
    done = warm_processes.gateway(*arguments)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mine") / "gateway"
    made = gateway("init", str(folder), "--pool=http://127.0.0.1:9/v1", "--pool-model=echo")
    assert made.code == 0, made.error
    return folder / "gateway.yaml"


def test_the_commands_of_a_drain_are_those_of_the_gateway(config: Path) -> None:
    url, same = "http://127.0.0.1:9/v1", ["--config", str(config), "--json"]
    drained = gateway("servers", "drain", *same, "--reason", "sovctl apply run", "--timeout-s", "0", url)
    assert (drained.code, yaml.safe_load(drained.output)[0]["drained"]) == (0, "sovctl apply run")
    listed = gateway("servers", "list", *same)
    assert yaml.safe_load(listed.output) == [{"url": url, "drained": "sovctl apply run"}]
    undrained = gateway("servers", "undrain", *same, url)
    assert yaml.safe_load(undrained.output) == [{"url": url, "drained": None}]


def test_a_gateway_without_the_server_or_the_file_is_unable_and_other_errors_are_failures(config: Path) -> None:
    unknown = gateway("servers", "drain", "--config", str(config), "https://192.0.2.1:8000/v1")
    assert is_unable(unknown)
    settings = yaml.safe_load(config.read_text())
    del settings["routing"]
    other = config.with_name("other.yaml")
    other.write_text(yaml.safe_dump(settings))
    other.chmod(0o600)
    assert is_unable(gateway("servers", "list", "--config", str(other)))
    assert not is_unable(gateway("servers", "drain", "--config", str(config)))
    assert not is_unable(gateway("servers", "list", "--config", "/nonexistent"))
    assert not is_unable(Answer(SSH_FAILED, "", "no result after 30 s"))


def test_an_earlier_version_is_unable() -> None:
    known = gateway("former-command")
    assert is_unable(Answer(known.code, "", known.error.replace("former-command", "servers")))
