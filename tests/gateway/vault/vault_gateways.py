"""Real gateways and the words of `sovctl gateway vault`, for tests of both together."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from pathlib import Path
from typing import Any

import warm_processes
import yaml

MAIL = "anna@example.com"
PROMPT = f"Please write to {MAIL} today."


def ask(gateway: Any, content: str = PROMPT, *, conversation: str | None = None) -> tuple[str, str]:
    """The route that served it, and the answer."""
    messages: Any = [{"role": "user", "content": content}]
    headers = {"x-sovctl-conversation": conversation} if conversation else {}
    answer = gateway.client().chat.completions.with_raw_response.create(
        model="assistant", messages=messages, extra_headers=headers
    )
    return answer.headers["x-sovctl-route"], str(answer.parse().choices[0].message.content)


def key_file(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return str(path)


def changed(config: Path, name: str, **keys: Any) -> Path:
    """A copy of a gateway.yaml with other keys."""
    path = config.parent / name
    path.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | keys))
    return path


def vault_word(word: str, config: Path, *more: str, **environment: str) -> dict[str, Any]:
    """What `sovctl gateway vault WORD --json` prints."""
    done = run_vault_word(word, config, "--json", *more, **environment)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_vault_word(
    word: str, config: Path, *more: str, said: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """`sovctl gateway vault WORD`, with what somebody says to it."""
    words = ("vault", word, "--config", config, *more)
    return warm_processes.gateway(*words, env={**os.environ, **environment}, answers=said)
