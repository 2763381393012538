"""The program `sovctl-verify.pyz`: verifies a report, a ledger or a site with a plain Python, without packages.

    python3 sovctl-verify.pyz [TARGET] [--checkpoint FILE] [--key FILE] [--witness-key FILE] [--json]

It contains the same modules as `sovctl audit verify`. Exit codes: 0 no findings, and consistent with a checkpoint kept
outside the site; 1 findings; 3 nothing to verify, or an invalid file; 8 no findings, but no kept checkpoint.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from sovctl.support.errors import ExitCode, InputError, SovctlError

from .entry_proof import audit_proof, is_proof
from .inputs import Key, read_checkpoint, read_key, read_policy, read_signers, read_time, read_witnesses
from .ledger import audit_ledger
from .result import AuditResult, shown
from .site import audit
from .witnesses import Witnesses

_CODES = (
    "exit codes: 0 no findings and consistent with a kept checkpoint; 1 findings; 3 nothing to verify, or an invalid "
    "file or option; 8 no findings, but without a kept checkpoint an older or re-signed copy cannot be excluded"
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        result = verify(
            options.target,
            ledger=options.ledger,
            key=options.key,
            checkpoints=options.checkpoint,
            witness_keys=options.witness_key,
            witnesses=options.witnesses,
            as_of=options.as_of,
            witness_policy=options.witness_policy,
            signer_keys=options.signer_key,
            signers=options.signers,
        )
    except SovctlError as error:
        sys.stderr.write(f"sovctl-verify: {shown(str(error))}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return int(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"sovctl-verify: {shown(str(error))}\n")
        return int(ExitCode.BAD_INPUT)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    if options.json:
        sys.stdout.write(json.dumps(result.as_json(), indent=2) + "\n")
    else:
        for label, text in result.lines():
            sys.stdout.write(f"{label:8} {text}\n" if label else f"{text}\n")
    return int(result.exit_code)


def verify(
    target: Path,
    *,
    ledger: Path | None = None,
    key: Path | None = None,
    checkpoints: list[Path] | None = None,
    witness_keys: list[Path] | None = None,
    witnesses: int | None = None,
    as_of: str | None = None,
    witness_policy: Path | None = None,
    signer_keys: list[Path] | None = None,
    signers: int | None = None,
) -> AuditResult:
    """Read the files of the auditor, and verify.

    Args:
        ledger: folder of a ledger, instead of `target`.
        witnesses: number of cosignatures that a checkpoint needs; None: one of each witness key.
        witness_policy: file that decides which cosignatures a checkpoint needs, instead of keys and number.
        as_of: time at which the target was copied, or `now`; None: unknown.
        signers: number of persons that must have signed each report; None: all of `signer_keys`.

    Raises:
        InputError: an unreadable or invalid file, or nothing to verify.
    """
    kept = [read_checkpoint(path) for path in checkpoints or []]
    if witness_policy and (witness_keys or witnesses is not None):
        raise InputError("--witness-policy excludes --witness-key and --witnesses", where=str(witness_policy))
    known = read_policy(witness_policy) if witness_policy else read_witnesses(witness_keys or [], witnesses)
    given = read_key(key) if key else _log_of(known)
    people = read_signers(signer_keys or [], signers)
    time = read_time(as_of) if as_of else None
    if is_proof(target) and not ledger:
        return audit_proof(target, key=given, kept=kept, witnesses=known)
    if ledger:
        return audit_ledger(ledger, key=given, kept=kept, witnesses=known, as_of=time)
    return audit(target, key=given, kept=kept, witnesses=known, as_of=time, signers=people)


def _log_of(witnesses: Witnesses) -> Key | None:
    """Return the log of a witness policy if it names a single one."""
    logs = witnesses.policy.logs if witnesses.policy else ()
    return logs[0] if len(logs) == 1 else None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        """Exit with the code of sovctl for an invalid option."""
        self.print_usage(sys.stderr)
        self.exit(int(ExitCode.BAD_INPUT), f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sovctl-verify.pyz",
        description="Verify a sovctl report, ledger or site state, without packages and without network.",
        epilog=_CODES,
    )
    parser.add_argument(
        "target",
        nargs="?",
        default=".",
        type=Path,
        help="folder of a report, a site state or a ledger, or a .tlog-proof file (default: .)",
    )
    parser.add_argument("--ledger", type=Path, help="folder of a ledger, instead of the target")
    parser.add_argument(
        "--checkpoint", type=Path, action="append", help="checkpoint kept outside the site, or a report; repeatable"
    )
    parser.add_argument("--key", type=Path, help="public key (.vkey) of the ledger, kept outside the site")
    parser.add_argument("--witness-key", type=Path, action="append", help="public key (.vkey) of a witness; repeatable")
    parser.add_argument("--witnesses", type=int, help="number of cosignatures required (default: of all witness keys)")
    parser.add_argument(
        "--witness-policy", type=Path, help="witness policy (C2SP tlog-policy) with the quorum, instead of keys"
    )
    parser.add_argument("--as-of", help="time of the copy, such as 2026-11-28T10:00:00Z, or now: detects silence since")
    parser.add_argument(
        "--signer-key", type=Path, action="append", help="public key (.vkey) of a person that signs reports; repeatable"
    )
    parser.add_argument("--signers", type=int, help="number of persons that must have signed (default: all keys)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser
