"""A real gateway whose vault is a real database: it fails closed when the database does, and comes back with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from vault_homes import PostgresqlHome
from waiting import until

MAIL = "anna@example.com"
PROMPT = f"Please write to {MAIL} today."


def ask(gateway: Any, content: str = PROMPT, **headers: str) -> tuple[str, str]:
    """The route that served it, and the answer."""
    messages: Any = [{"role": "user", "content": content}]
    answer = gateway.client().chat.completions.with_raw_response.create(
        model="assistant", messages=messages, extra_headers=headers
    )
    return answer.headers["x-sovctl-route"], str(answer.parse().choices[0].message.content)


def test_a_gateway_with_a_database_fails_closed_and_recovers(
    start: Callable[..., Any], postgresql_home: PostgresqlHome, cloud: Any, tmp_path: Path
) -> None:
    kek_file = tmp_path / "kek"
    kek_file.write_text("ab" * 32)
    kek_file.chmod(0o600)
    vault = {"postgresql": {**postgresql_home.settings, "statement_timeout_s": 2}, "kek_file": str(kek_file)}
    first = start(vault=vault, workers=2)
    named = {"x-sovctl-conversation": "of-two-hosts"}
    assert ask(first, **named) == ("cloud", PROMPT)
    assert MAIL not in str(cloud.requests[-1])
    token = cloud.requests[-1]["messages"][0]["content"].split(" ")[3]
    settings = yaml.safe_load(first.config.read_text())
    second = start(vault=vault, token_key_file=settings["token_key_file"])
    cloud.script.message = lambda _: {"role": "assistant", "content": token}
    assert ask(second, "What was the address?", **named) == ("cloud", MAIL)  # stored by the other gateway
    cloud.forget()
    postgresql_home.server.kill()
    for gateway in (first, second):
        assert ask(gateway) == ("pool", PROMPT)
        status, _, body = gateway.request("GET", "/readyz")
        assert (status, json.loads(body)["wrong"]["vault"]) == (503, "can't be written")
    assert not cloud.requests
    postgresql_home.server.start()
    until(lambda: ask(first)[0] == "cloud", "the vault can be written again")
    assert MAIL not in str(cloud.requests[-1])
    assert "password" not in first.log() + second.log()
