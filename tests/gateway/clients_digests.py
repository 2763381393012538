"""Names the digests of clients files in settings, as `sovctl gateway keys` does."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import yaml


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def with_digests(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that name the digest of their clients file, if it exists."""
    path = Path(settings["clients_file"])
    return {**settings, "clients_sha256": digest(path)} if path.is_file() else settings


def replace_clients(config: Path, content: str) -> None:
    """Write the clients file of a gateway.yaml. Both digests are named until the file is replaced."""
    settings = yaml.safe_load(config.read_text())
    path = Path(settings["clients_file"])
    new = hashlib.sha256(content.encode()).hexdigest()
    for digests in ([digest(path), new], [new]):
        beside = config.with_suffix(".new")
        beside.write_text(yaml.safe_dump({**settings, "clients_sha256": digests}))
        beside.replace(config)
        path.write_text(content)
