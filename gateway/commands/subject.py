"""`sovctl audit erase` and `sovctl audit export`: erases or copies the data about one subject (GDPR, Art. 17 and 15).

- An erasure deletes the hand-offs of a principal, then destroys the keys of its conversations, and the salts of its
  commitments last. If it is interrupted, the same command continues it. The ledger gets a record `gateway.erased`.
- Entries of the ledger stay, so that all proofs verify. They name a person only by the commitment.
- An export is recorded in the ledger before it is written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.pending import record_or_leave
from sovctl.support.errors import ExitCode, InputError
from sovctl.support.secret_files import read_secret

from ..audit.erasure_records import erased_fields
from ..audit.records import timestamp
from ..handoff.queue import open_queue
from ..settings import GatewaySettings, load_settings
from ..vault import Vault
from ..vault.database.erasures import MAX_SUBJECTS
from .subject_data import Held, of_principal, of_values
from .vault import require_its_user, with_vault
from .vault_erase import account, confirm, record

FORMAT = "sovctl-subject-v1"
_MAX_INPUT = 1 << 16  # characters of values on standard input
_NOT_COVERED = (
    "text of requests and answers: not stored",
    "sums of usage by day, and logs of the gateway: see the runbook",
    "expired conversations and pruned entries",
)


def add_subcommands(parser: argparse.ArgumentParser, config: Path) -> None:
    """Declare the subcommands of `subject`."""
    subparsers = parser.add_subparsers(dest="subject_command", required=True)
    for word, about in (("erase", "erase the data about a subject"), ("export", "copy the data about a subject")):
        sub = subparsers.add_parser(word, help=about, description=about)
        sub.add_argument("--config", type=Path, default=config, metavar="FILE")
        sub.add_argument("--subject", metavar="ID", help="client, or ISSUER:SUBJECT")
        sub.add_argument("--tenant", metavar="NAME", help="tenant of --values-file")
        sub.add_argument("--values-file", metavar="FILE", help="a person's values, one per line; - for standard input")
        sub.add_argument("--ledger", type=Path, action="append", default=[], metavar="DIR", help="of another gateway")
        if word == "erase":
            sub.add_argument("--dry-run", action="store_true", help="show the counts, and erase nothing")
            sub.add_argument("--yes", action="store_true", help="don't ask")
            sub.add_argument("--json", action="store_true", help="one JSON document")
        else:
            sub.add_argument("--out", type=Path, metavar="FILE", help="new file, mode 0600")
            sub.add_argument("--stdout", action="store_true", help="print the document")


def run(options: argparse.Namespace) -> int:
    """Run a subcommand; return the exit code.

    Raises:
        SovctlError: the options, the settings, the keys or the database are unusable.
    """
    _check(options)
    settings = load_settings(options.config)
    require_its_user(settings)
    use = _erase if options.subject_command == "erase" else _export
    done = asyncio.run(with_vault(settings, lambda vault: use(vault, settings, options)))
    if options.stdout if options.subject_command == "export" else options.json:
        sys.stdout.write(json.dumps(done, indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in done.items()))
    return ExitCode.OK


def _check(options: argparse.Namespace) -> None:
    if (options.subject is None) == (options.values_file is None):
        raise InputError("give either --subject or --values-file")
    if (options.tenant is None) != (options.values_file is None):
        raise InputError("--tenant and --values-file must be given together")
    if options.subject_command == "export":
        if (options.out is None) == (not options.stdout):
            raise InputError("give either --out or --stdout")
        if options.out is not None and options.out.exists():
            raise InputError("the file exists", where=str(options.out), hint="give a new file")
    elif options.values_file == "-" and not (options.yes or options.dry_run):
        raise InputError("standard input has the values, so it cannot confirm", hint="add --yes or --dry-run")


async def _held(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Held:
    ledgers = [settings.ledger.directory, *options.ledger]
    if settings.vault.postgresql is not None and not options.ledger:
        sys.stderr.write("note: gateways on other hosts have their own ledgers; give a copy of each with --ledger\n")
    if options.subject is not None:
        return await of_principal(vault, settings, options.subject, ledgers=ledgers)
    text = sys.stdin.read(_MAX_INPUT) if options.values_file == "-" else read_secret(Path(options.values_file))
    values = [line.strip() for line in text.splitlines() if line.strip()]
    if not 0 < len(values) <= MAX_SUBJECTS:
        raise InputError(
            f"expected 1 to {MAX_SUBJECTS} values, got {len(values)}",
            where="standard input" if options.values_file == "-" else options.values_file,
            hint="one person at a time",
        )
    return await of_values(vault, settings, options.tenant, values, ledgers=ledgers)


async def _erase(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    held = await _held(vault, settings, options)
    if options.dry_run:
        return {**held.counts(), "is_dry_run": True}
    if not options.yes:
        counts = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in held.counts().items())
        confirm(f"This destroys keys and hand-offs and cannot be undone: {counts}.")
    handoffs = 0
    if held.scope.kind == "principal" and held.cases:
        queue = await open_queue(settings)
        try:
            handoffs = await queue.delete([each.id for each in held.cases])
        finally:
            await queue.close()
    erasure = await vault.eraser.erase(held.scope, by=account())
    await record(vault, settings, erasure)
    fields = {"id": erasure.id, "site": settings.site, **erased_fields(erasure), "is_recorded": True}
    return {**fields, "handoffs": handoffs, "ledger_entries": len(held.entries)}


async def _export(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    held, now = await _held(vault, settings, options), timestamp(time.time())
    ledger = settings.ledger
    access = {
        "type": "audit-read",
        "time": now,
        "command": "export-subject",
        "operator": account(),
        "query": {"scope": held.scope.kind, "scope_digest": held.scope.digest.hex()},
    }
    record_or_leave(ledger.directory, access, key_file=ledger.key_file)
    document = {
        "format": FORMAT,
        "site": settings.site,
        "time": now,
        "subject": options.subject if options.subject is not None else "values of a file",
        "counts": held.counts(),
        "ledger_entries": held.entries,
        "conversations": held.conversations,
        "handoffs": [each.as_row() for each in held.cases],
        "not_covered": list(_NOT_COVERED),
    }
    if options.stdout:
        return document
    _write_new(options.out, json.dumps(document, indent=2) + "\n")
    return {**held.counts(), "file": str(options.out)}


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist, with mode 0600, durably; an error leaves none.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"cannot write: {(error.strerror or 'no access').lower()}", where=str(path)) from error
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(f"cannot write: {(error.strerror or 'no access').lower()}", where=str(path)) from error
