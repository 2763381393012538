"""State of a witness: its key, and the public key and last checkpoint of each log.

<folder>/witness.key, witness.vkey        key of the witness
<folder>/logs/<origin>/log.vkey           public key of the log, fixed at its first checkpoint
<folder>/logs/<origin>/checkpoint         last cosigned checkpoint, for `sovctl audit verify --checkpoint`
"""

from __future__ import annotations

import fcntl
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..signing import load_or_create, parse_vkey
from ..verify_key import COSIGNATURE, VerifyKey, checked_key_name
from .checkpoint import parse_checkpoint
from .errors import WitnessRefused
from .rotation import parse_rotation
from .scanned import read_scanned
from .witness import cosign, parse_request

_UNSAFE = re.compile(r"[^0-9A-Za-z._-]")


class WitnessMemory:
    """One witness and its state folder.

    Args:
        folder: created if absent.
        name: name of the witness in signatures.
    """

    def __init__(self, folder: Path, *, name: str) -> None:
        self.folder = folder
        self.name = checked_key_name(name)

    def sign(
        self,
        asked: Path,
        *,
        log_key: tuple[str, VerifyKey] | None = None,
        rotations: Sequence[Mapping[str, Any]] = (),
    ) -> Path:
        """Cosign the checkpoint of a request, store it, and return the path of its file.

        Args:
            asked: the request file; `-` is standard input.
            log_key: name and public key of the log; required for its first checkpoint, compared later.
            rotations: records of rotations of the log's key since the last checkpoint, in order.

        Raises:
            InputError: unreadable request, or unknown key of the log.
            WitnessRefused: the checkpoint does not extend the last one, or the log has another key.
            BadSignature: the checkpoint has no valid signature of the log.
        """
        wanted = parse_request(read_scanned(asked, what="a witness request"))
        origin = wanted.checkpoint.origin
        folder = self.folder / "logs" / _UNSAFE.sub("_", origin)
        folder.mkdir(parents=True, exist_ok=True)
        key = load_or_create(self.folder / "witness.key")
        write_atomic(self.folder / "witness.vkey", key.public.vkey(self.name, kind=COSIGNATURE) + "\n")
        with (folder / "lock").open("a") as lock:
            # C2SP tlog-witness: checking and replacing the last checkpoint must be atomic, or concurrent requests could
            # roll the state back.
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self._log_key(folder, origin, log_key, rotations)
            kept = folder / "checkpoint"
            last = parse_checkpoint(kept.read_bytes(), where=str(kept)) if kept.exists() else None
            signed = cosign(wanted, last=last, log_key=known, name=self.name, key=key, now_s=int(time.time()))
            write_atomic(
                folder / "log.vkey", known.vkey(origin) + "\n"
            )  # after `cosign` has verified that this key signs the log
            write_atomic(kept, signed.text)
        return kept

    def _log_key(
        self,
        folder: Path,
        origin: str,
        given: tuple[str, VerifyKey] | None,
        rotations: Sequence[Mapping[str, Any]],
    ) -> VerifyKey:
        path = folder / "log.vkey"
        if not path.exists():
            if given is None or given[0] != origin:
                raise InputError(
                    f"expected the public key of {origin}, got {given[0] if given else 'none'}",
                    hint="give --log-key with the log.vkey of the site",
                )
            return given[1]
        name, known = parse_vkey(path.read_text())
        for record in rotations:
            found = parse_rotation(record)
            if record["origin"] != origin or found.old != known:
                raise WitnessRefused(
                    f"the rotation at entry {found.index} does not begin with the known key of {origin}"
                )
            known = found.new
        if name != origin or (given is not None and given[1] != known):
            raise WitnessRefused(f"the key of {name} differs from the one of its first checkpoint", where=str(path))
        return known
