"""Parser of owner and mode of files: `mode uid gid path` or `absent - - path`, one path on each line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from ..numbers import integer
from ..unreadable import Unreadable

_LINE = re.compile(r"^(?:(?P<mode>[0-7]{1,4}) (?P<uid>\d+) (?P<gid>\d+)|absent - -) (?P<path>/.*)$")


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permission bits with set-user-ID, set-group-ID and sticky bit; numeric owner and group."""

    mode: int
    uid: int
    gid: int


def permissions_command(paths: Iterable[str], *, patterns: Iterable[str] = ()) -> str:
    """Return a shell command that prints the permissions of paths, and of the files that match patterns."""
    words = " ".join([*map(shlex.quote, paths), *patterns])
    return f"""for f in {words}; do stat -c '%a %u %g %n' "$f" 2>/dev/null || echo "absent - - $f"; done"""


def parse_permissions(text: str) -> dict[str, Permissions | None]:
    """Return permissions by path; None for an absent path.

    Raises:
        Unreadable: the text is empty, a line has another form, or a path occurs twice.
    """
    found: dict[str, Permissions | None] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or match["path"] in found:
            raise Unreadable("`mode uid gid path`, each path once", line, where="stat")
        found[match["path"]] = None
        if match["mode"]:
            uid, gid = integer(match["uid"]), integer(match["gid"])
            found[match["path"]] = Permissions(int(match["mode"], 8), uid, gid)
    if not found:
        raise Unreadable("permissions of files", text, where="stat")
    return found
