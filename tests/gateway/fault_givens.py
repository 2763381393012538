"""What the tests of faults share: questions, disks that are full, vaults that are locked."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

IBAN, MAIL = "DE89370400440532013000", "anna@example.com"
PROMPT = f"Please confirm the transfer to {IBAN} and write to {MAIL}."


def ask(gateway: Any, content: str = PROMPT, model: str = "assistant", **more: Any) -> Any:
    return gateway.client().chat.completions.with_raw_response.create(
        model=model, messages=[{"role": "user", "content": content}], **more
    )


def code_of(caught: Any) -> str:
    return str(caught.value.body["sovctl"]["reason"])


def ledger_folder(gateway: Any) -> Path:
    return Path(yaml.safe_load(gateway.config.read_text())["ledger"]["directory"])


@contextmanager
def full_disk(gateway: Any) -> Iterator[None]:
    """No file of the gateway may grow beyond the ledger's present size: for the ledger, the disk is full."""
    fill_disk(gateway)
    try:
        yield
    finally:
        free_disk(gateway)


def fill_disk(gateway: Any) -> None:
    size = (ledger_folder(gateway) / "entries").stat().st_size
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def free_disk(gateway: Any) -> None:
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def locked_vault(gateway: Any) -> Iterator[None]:
    database = sqlite3.connect(yaml.safe_load(gateway.config.read_text())["vault"]["path"], isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.close()
