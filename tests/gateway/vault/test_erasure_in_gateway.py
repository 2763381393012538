"""`sovctl gateway vault erase` beside real gateways: they forget, and receipt and ledger say the same."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from vault_gateways import MAIL, PROMPT, ask, changed, key_file, run_vault_word, vault_word
from vault_homes import Home, SqliteHome
from waiting import until

from sovctl.gateway.vault.database.sqlite_file import BUSY_TIMEOUT_S
from sovctl.support.errors import ExitCode

NAME = "case-17"
LINK = f"See https://crm.example/find?mail={MAIL} please."


def token_sent(cloud: Any) -> str:
    content: str = cloud.requests[-1]["messages"][0]["content"]
    return content.split(" ")[3 if content.startswith("Please") else 1]


def says(cloud: Any, text: str) -> None:
    cloud.script.message = lambda _: {"role": "assistant", "content": text}


def erased(gateway: Any) -> list[dict[str, Any]]:
    return [record for record in gateway.records() if record["type"] == "gateway.erased"]


def same_words(receipt: dict[str, Any], record: dict[str, Any]) -> bool:
    return {k: v for k, v in receipt.items() if k != "is_recorded"} == {
        k: v for k, v in record.items() if k not in ("type", "time")
    }


def test_a_person_is_forgotten_by_every_worker_of_every_gateway(
    start: Callable[..., Any], home: Home, cloud: Any, tmp_path: Path
) -> None:
    vault = {**home.place(), "kek_file": key_file(tmp_path, "kek")}
    one = start(vault=vault, workers=2)
    token_key_file = yaml.safe_load(one.config.read_text())["token_key_file"]
    two = start(vault=vault, token_key_file=token_key_file)
    assert ask(one, conversation=NAME) == ("cloud", PROMPT)
    old = token_sent(cloud)
    assert ask(two, LINK, conversation="with-a-link") == ("cloud", LINK)
    link = token_sent(cloud)
    assert link.startswith("URL_")
    assert ask(one, "Please write to bob@example.com today.", conversation="of-another") == (
        "cloud",
        "Please write to bob@example.com today.",
    )
    bobs = token_sent(cloud)
    subject_file = tmp_path / "subject"
    subject_file.write_text("Anna@Example.com\nanna weber\n")
    subject_file.chmod(0o600)
    receipt = vault_word("erase", one.config, "--tenant", "retail", "--subject-file", str(subject_file), "--yes")
    assert (receipt["scope"], receipt["conversations"], receipt["data_keys"]) == ("subject", 2, 2)
    assert receipt["is_recorded"]
    records = [*erased(one), *erased(two)]
    assert len(records) == 1
    assert same_words(receipt, records[0])
    assert MAIL not in str(receipt)
    assert "retail" not in str(receipt)
    for _ in range(3):  # whichever worker gets it
        for gateway in (one, two):
            says(cloud, f"{old} and {link}")
            assert ask(gateway, "Which address was it?", conversation=NAME) == ("cloud", f"{old} and {link}")
            assert ask(gateway, "And the page?", conversation="with-a-link") == ("cloud", f"{old} and {link}")
            says(cloud, bobs)
            assert ask(gateway, "Who was it?", conversation="of-another") == ("cloud", "bob@example.com")
    cloud.forget()
    assert ask(two, conversation=NAME) == ("cloud", PROMPT)
    assert token_sent(cloud) != old  # a new token for what was erased and came back
    says(cloud, f"{old} {token_sent(cloud)}")
    assert ask(one, "Both?", conversation=NAME) == ("cloud", f"{old} {MAIL}")
    assert MAIL not in str(cloud.requests)


def test_a_conversation_and_a_tenant_are_forgotten_with_and_without_a_gateway(
    start: Callable[..., Any], start_from: Callable[..., Any], sqlite_home: SqliteHome, cloud: Any, tmp_path: Path
) -> None:
    gateway = start(vault={**sqlite_home.place(), "kek_file": key_file(tmp_path, "kek")})
    for name in ("by-key", "by-name", "stays"):
        ask(gateway, conversation=name)
    keys = [record["conversation"] for record in gateway.records() if record["type"] == "gateway.request"]
    receipt = vault_word("erase", gateway.config, "--conversation", keys[0], "--yes")
    assert (receipt["scope_digest"], receipt["conversations"]) == (keys[0], 1)
    named = ("--conversation", "by-name", "--tenant", "retail", "--client", "branch")
    assert vault_word("erase", gateway.config, *named, "--yes")["scope_digest"] == keys[1]
    assert len(erased(gateway)) == 2
    gateway.stop()
    receipt = vault_word("erase", gateway.config, "--tenant", "retail", "--yes")
    assert (receipt["conversations"], receipt["is_recorded"]) == (1, True)
    assert same_words(receipt, erased(gateway)[-1])
    after = start_from(gateway.config, tmp_path / "log")  # its files are still its own
    assert ask(after, conversation="stays") == ("cloud", PROMPT)


def remembered_bytes(gateway: Any) -> int:
    text = gateway.request("GET", "/metrics")[2].decode()
    return int(float(re.search(r"^sovctl_gateway_remembered_bytes (\S+)", text, re.MULTILINE)[1]))  # type: ignore[index]


def test_erasure_empties_what_every_worker_remembers_of_texts(
    start: Callable[..., Any], home: Home, cloud: Any, tmp_path: Path
) -> None:
    vault = {**home.place(), "kek_file": key_file(tmp_path, "kek")}
    gateway = start(vault=vault, workers=2)
    key = {"authorization": "Bearer test-key-of-the-branch-application"}
    messages = [{"role": "user", "content": f"{PROMPT} {number}"} for number in range(3)]
    body = json.dumps({"model": "assistant", "messages": messages}).encode()
    for _ in range(6):  # whichever worker gets it
        assert gateway.request("POST", "/v1/chat/completions", body, key)[0] == 200
    until(lambda: remembered_bytes(gateway) > 0, "a remembered text")
    vault_word("erase", gateway.config, "--tenant", "retail", "--yes")
    until(lambda: remembered_bytes(gateway) == 0, "the forgetting")
    cloud.forget()
    assert ask(gateway, conversation=NAME) == ("cloud", PROMPT)
    assert MAIL not in str(cloud.requests)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "give --conversation or --tenant"),
        (("--conversation", "case-17"), "64 hex digits"),
        (("--conversation", "case-17", "--tenant", "retail"), "--tenant and --client must be given together"),
        (("--conversation", "two words", "--tenant", "retail", "--client", "branch"), "without spaces"),
        (("--conversation", "0" * 64, "--subject-file", "/nowhere"), "not both"),
        (("--tenant", "retail", "--client", "branch"), "--client needs --conversation"),
        (("--tenant", "retail", "--subject-file", "/nowhere"), "/nowhere"),
    ],
)
def test_what_names_nothing_is_refused(plain: Path, options: tuple[str, ...], complaint: str) -> None:
    done = run_vault_word("erase", plain, *options, "--yes")
    assert done.returncode == ExitCode.BAD_INPUT
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("said", ["", "yes\n", "n\n"])
def test_without_a_yes_nothing_is_erased(plain: Path, said: str) -> None:
    done = run_vault_word("erase", plain, "--tenant", "retail", said=said)
    assert done.returncode == ExitCode.BAD_INPUT
    assert "nothing was erased" in done.stderr
    assert vault_word("status", plain)["conversations_by_token_key_version"] == {"1": 1}


@pytest.fixture(scope="module")
def plain(start: Callable[..., Any]) -> Path:
    """The settings of a gateway that served one conversation and ended."""
    gateway = start()
    ask(gateway)
    gateway.stop()
    config: Path = gateway.config
    return config


def test_somebody_else_than_the_gateway_is_sent_away(plain: Path, tmp_path: Path) -> None:
    strange = Path("/etc/passwd")  # looked at, never opened
    if os.geteuid() == 0:
        strange = tmp_path / "vault.db"
        strange.touch()
        os.chown(strange, 65_534, -1)
    settings = yaml.safe_load(plain.read_text())["vault"] | {"path": str(strange)}
    done = run_vault_word("status", changed(plain, "strange.yaml", vault=settings))
    assert done.returncode == ExitCode.BAD_INPUT
    assert f"this command needs user {strange.stat().st_uid}" in done.stderr


def test_the_command_waits_longer_than_a_request_for_whoever_writes(plain: Path) -> None:
    path = yaml.safe_load(plain.read_text())["vault"]["path"]
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(BUSY_TIMEOUT_S * 3, other.execute, ("ROLLBACK",))
    release.start()
    try:
        assert vault_word("rotate", plain, "--new-key")["rewrapped"] == 1
    finally:
        release.join()
        other.close()
