"""`sovctl gateway vault erase`: destroys the keys of a conversation, a person or a tenant, and prints the receipt.

The receipt has the same content as the ledger record `gateway.erased` of the same id. The ledger has one writer: a
running
gateway writes the record within about a second; without one, this command does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pwd
import re
import sys
from collections.abc import Mapping
from typing import Any

from sovctl.compliance import signing as signing
from sovctl.compliance.ledger.group import GroupCommit
from sovctl.compliance.ledger.store import Ledger
from sovctl.support.errors import Busy, InputError, SovctlError
from sovctl.support.secret_files import read_secret

from ..audit.audit_log import AuditLog
from ..audit.erasure_records import erased_fields
from ..audit.subjects import Subjects
from ..domain.errors import Refused
from ..settings import GatewaySettings
from ..tokens.conversation import Conversation, conversation_of
from ..tokens.hmac_key import HmacKey
from ..tokens.keys import load_token_keys
from ..vault import Vault
from ..vault.database.erasures import MAX_SUBJECTS, Erasure
from ..vault.erasing import Scope

_LEDGER_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.2
_KEY = re.compile(r"[0-9a-f]{64}")


async def erase(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Mapping[str, Any]:
    """Erase the scope of the options; return the receipt.

    Raises:
        InputError: the options name no scope, or the operator did not confirm.
        VaultFailed: the vault failed.
        SovctlError: everything is erased, but not recorded in the ledger.
    """
    scope = await _scope(vault, settings, options)
    if not options.yes:
        found = [len(batch) async for batch in vault.eraser.conversations(scope)]
        confirm(f"This destroys keys in up to {sum(found)} conversations and cannot be undone.")

    def progress(done: int) -> None:
        sys.stderr.write(f"{done} conversations\n")

    erasure = await vault.eraser.erase(scope, by=account(), progress=progress)
    await record(vault, settings, erasure)
    return {"id": erasure.id, "site": settings.site, **erased_fields(erasure), "is_recorded": True}


def confirm(warning: str) -> None:
    """Ask for the word `erase`.

    Raises:
        InputError: another answer.
    """
    sys.stderr.write(f"{warning} Type erase to continue: ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    if answer.strip() != "erase":
        raise InputError("not confirmed; nothing was erased", hint="or say --yes")


def account() -> str:
    """Return the account of the operator; its number if it has no name, as in a container."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


async def _scope(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> Scope:
    if options.conversation is not None:
        if options.subject_file is not None:
            raise InputError("give --conversation or --subject-file, not both")
        return vault.eraser.conversation(await _conversation_key(vault, settings, options))
    if options.tenant is None:
        raise InputError("give --conversation or --tenant", hint="--subject-file needs --tenant too")
    if options.client is not None:
        raise InputError("--client needs --conversation")
    if options.subject_file is None:
        return vault.eraser.tenant(options.tenant)
    values = [line.strip() for line in read_secret(options.subject_file).splitlines() if line.strip()]
    if len(values) > MAX_SUBJECTS:
        raise InputError(
            f"expected at most {MAX_SUBJECTS} values, got {len(values)}",
            where=str(options.subject_file),
            hint="one person at a time",
        )
    return vault.eraser.subject(options.tenant, values)


async def _conversation_key(vault: Vault, settings: GatewaySettings, options: argparse.Namespace) -> str:
    name: str = options.conversation
    if options.tenant is None and options.client is None:
        if not _KEY.fullmatch(name):
            raise InputError(
                "expected a conversation's key of 64 hex digits, as in the audit records",
                where="--conversation",
                hint="for the name at a client, add --tenant and --client",
            )
        return name
    if options.tenant is None or options.client is None:
        raise InputError("--tenant and --client must be given together", where="--conversation")
    keys = load_token_keys(settings)
    try:
        named = [_named(name, options, each.conversation, each.version) for each in (keys, *keys.older)]
    except ValueError as error:
        raise InputError(str(error), where="--conversation") from error
    return (await vault.living(named) or named[0]).key


def _named(name: str, options: argparse.Namespace, secret: bytes, version: int) -> Conversation:
    return conversation_of(
        (), header=name, tenant=options.tenant, client=options.client, secret=HmacKey(secret), key_version=version
    )


async def record(vault: Vault, settings: GatewaySettings, erasure: Erasure) -> None:
    """Wait until the ledger contains the erasure, or record it.

    Raises:
        SovctlError: it is not recorded; with the cause.
    """
    deadline = asyncio.get_running_loop().time() + _LEDGER_WITHIN_S
    why = "no gateway wrote it in time"
    while not await vault.is_recorded(erasure):
        try:
            await _write(vault, settings)
        except Busy:  # a running gateway records it
            pass
        except (SovctlError, Refused) as error:
            why = str(error)
        if asyncio.get_running_loop().time() > deadline:
            raise SovctlError(
                f"erased, but not recorded in the ledger: {why}",
                where=erasure.id,
                hint="the vault keeps the record; a running gateway will write it",
            )
        await asyncio.sleep(_LOOK_EVERY_S)


async def _write(vault: Vault, settings: GatewaySettings) -> None:
    ledger = settings.ledger
    key = signing.load_or_create(ledger.key_file)
    with Ledger.open(ledger.directory, origin=ledger.origin, key=key) as opened:
        async with GroupCommit(opened) as group:
            secret = load_token_keys(settings).audit
            subjects = Subjects.of(vault, ledger)
            audit = AuditLog(group, settings.site, secret, settings.policy.digest(), subjects)
            await vault.record_erasures(audit.erased)
