"""KEKs and token keys are changed under real gateways: nobody waits, nothing that was said is lost."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hardware_token import HardwareToken
from vault_gateways import MAIL, PROMPT, ask, changed, key_file, vault_word
from vault_homes import Home, SqliteHome


def test_a_new_kek_while_gateways_serve(
    start: Callable[..., Any],
    start_from: Callable[..., Any],
    home: Home,
    cloud: Any,
    hardware_token: HardwareToken,
    tmp_path: Path,
) -> None:
    old, new = {"file": key_file(tmp_path, "old")}, {"pkcs11": hardware_token.settings("kek")}
    gateway = start(vault={**home.place(), "kek": [old, new]}, workers=2)
    assert ask(gateway, conversation="long")[0] == "cloud"
    token = cloud.requests[-1]["messages"][0]["content"].split(" ")[3]
    rotated = changed(gateway.config, "rotated.yaml", vault={**home.place(), "kek": [new, old]})
    routes: list[str] = []
    is_over = threading.Event()

    def hammer() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            routes.append(ask(gateway, f"Write to c{number}@example.com, please.")[0])

    asking = threading.Thread(target=hammer)
    asking.start()
    try:
        first = vault_word("rotate", rotated)
        again = vault_word("rotate", rotated, "--new-key")
    finally:
        is_over.set()
        asking.join()
    assert set(routes) == {"cloud"}, gateway.log()
    assert first["kek"] == again["kek"]
    assert first["destroyed"] >= 1
    vault_word("rotate", rotated)
    assert {key["kek"] for key in vault_word("status", rotated)["keys"]} == {first["kek"]}
    gateway.stop()
    only_new = changed(gateway.config, "new.yaml", vault={**home.place(), "kek": [new]})
    after = start_from(only_new, gateway.config.parent / "log.after")
    cloud.script.message = lambda _: {"role": "assistant", "content": token}
    assert ask(after, "Which address was it?", conversation="long") == ("cloud", MAIL)
    assert "24681357" not in gateway.log() + after.log()  # the token's PIN


def test_a_gateway_and_its_vault_live_under_a_kek_from_the_environment(
    start_from: Callable[..., Any],
    write_config: Callable[[Path], Path],
    sqlite_home: SqliteHome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = secrets.token_hex(32)
    config = changed(
        write_config(tmp_path / "gateway"), "env.yaml", vault={**sqlite_home.place(), "kek": [{"env": "SITE_KEK"}]}
    )
    monkeypatch.setenv("SITE_KEK", key)
    gateway = start_from(config, tmp_path / "log")
    assert ask(gateway)[0] == "cloud"
    status = vault_word("status", config, SITE_KEK=key)
    assert {k["kek"] for k in status["keys"]} == {status["kek"]}
    assert key not in gateway.log()


def test_conversations_keep_the_token_key_they_began_with(
    start: Callable[..., Any], start_from: Callable[..., Any], sqlite_home: SqliteHome, cloud: Any, tmp_path: Path
) -> None:
    one = {"version": 1, "file": key_file(tmp_path, "token.1")}
    two = {"version": 2, "file": key_file(tmp_path, "token.2")}
    vault = {**sqlite_home.place(), "kek_file": key_file(tmp_path, "kek")}
    gateway = start(vault=vault, token_key_file=None, token_keys=[one])

    def sent() -> str:
        content: str = cloud.requests[-1]["messages"][0]["content"]
        return content.split(" ")[3]

    def restart(name: str, *token_keys: dict[str, Any]) -> Any:
        gateway.stop()
        return start_from(changed(gateway.config, name, token_keys=list(token_keys)), tmp_path / f"{name}.log")

    ask(gateway, conversation="begun-under-1")
    ask(gateway, f"Dear desk, inform {MAIL} today.")
    named, derived = [str(r["messages"][0]["content"]).split(" ")[3] for r in cloud.requests[-2:]]
    gateway = restart("both", two, one)
    config = gateway.config
    assert ask(gateway, conversation="begun-under-1") == ("cloud", PROMPT)
    assert sent() == named  # so the cloud's prefix cache and what it said before still hold
    assert ask(gateway, f"Dear desk, inform {MAIL} today.")[0] == "cloud"
    assert sent() == derived
    cloud.script.message = lambda _: {"role": "assistant", "content": named}
    assert ask(gateway, "Which address was it?", conversation="begun-under-1") == ("cloud", MAIL)
    assert ask(gateway, conversation="begun-under-2") == ("cloud", named)  # another conversation's token
    assert sent() not in (named, derived)
    newer = sent()
    assert vault_word("status", config)["conversations_by_token_key_version"] == {"1": 2, "2": 1}
    gateway = restart("new", two)
    assert ask(gateway, "Which address was it?", conversation="begun-under-1") == ("cloud", named)
    cloud.script.message = lambda _: {"role": "assistant", "content": newer}
    assert ask(gateway, "Which address was it?", conversation="begun-under-2") == ("cloud", MAIL)
    started = [record["token_key_version"] for record in gateway.records() if record["type"] == "gateway.start"]
    assert started == [1, 2, 2]  # so that an auditor knows which key checks the digests
