"""Checks owners and modes of the gateway's existing files before it uses them, because they may come from a restore.

| file | others may |
|---|---|
| vault, limits, hand-offs: SQLite files with their logs | neither read nor write |
| keys and PINs | neither read nor write |
| ledger: folder and files | read, not write |
| folder of the vault | read, not write |

The owner is the gateway's user or root. A process of root accepts any owner, because it manages files of that user.

    require_private(settings)       # raises SpecError with every file and its remedy
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sovctl.support.errors import Problem, SpecError

from ..settings import GatewaySettings

_PRIVATE, _READABLE = 0o077, 0o022
_LOGS = ("", "-wal", "-shm", "-journal")  # SQLite, "Temporary Files Used By SQLite", 2


def require_private(settings: GatewaySettings) -> None:
    """Check all existing files of the settings.

    Raises:
        SpecError: another user owns a file, can read a secret or can change a file; lists all.
    """
    if problems := [each for path, denied in _files(settings) if (each := problem_with(path, denied)) is not None]:
        raise SpecError(problems, what="the files of the gateway")


def problem_with(path: Path, denied: int) -> Problem | None:
    """Return the problem with a file or folder; None if it is private enough or absent.

    Args:
        denied: mode bits that must not be set.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Problem(f"owner and mode are unreadable: {error.strerror}", where=str(path))
    user, mode = os.geteuid(), stat.S_IMODE(found.st_mode)
    if user not in (0, found.st_uid) and found.st_uid != 0:
        hint = f"run `chown {user} {path}` after you have checked its origin"
        return Problem(f"owned by user {found.st_uid}, expected {user} or root", where=str(path), hint=hint)
    if mode & denied:
        what = "readable" if denied == _PRIVATE else "writable"
        remedy = "go-rwx" if denied == _PRIVATE else "go-w"
        return Problem(f"{what} by others (mode {mode:04o})", where=str(path), hint=f"run `chmod {remedy} {path}`")
    return None


def _files(settings: GatewaySettings) -> Iterator[tuple[Path, int]]:
    """Yield all files of the settings with the mode bits that must not be set."""
    for database in (settings.vault.path, settings.quota.path, settings.handoff_path):
        if database is not None:
            yield from ((database.with_name(database.name + log), _PRIVATE) for log in _LOGS)
    if settings.vault.path is not None:
        yield settings.vault.path.parent, _READABLE
    keks: list[Path] = []
    for kek in settings.vault.keks:
        keks += [kek.file] if kek.file is not None else []
        keks += [kek.pkcs11.pin_file] if kek.pkcs11 is not None else []
    keys = [*(key.file for key in settings.all_token_keys), *keks, settings.ledger.key_file]
    yield from ((path, _PRIVATE) for path in [*keys, *settings.access.principal_key_files])
    yield settings.ledger.directory, _READABLE
    if settings.ledger.directory.is_dir():
        yield from ((path, _READABLE) for path in sorted(settings.ledger.directory.iterdir()))
