"""Settings at the next start of a node, from drop-in files in the order in which the system reads them.

A later file overrides an earlier one, so that a setting can be right at run time and wrong after a reboot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

SYSCTL_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
"""Folders of systemd-sysctl by precedence: a file replaces files of the same name in later folders (sysctl.d(5))."""
LIMITS_FILE, LIMITS_FOLDER = "/etc/security/limits.conf", "/etc/security/limits.d"
"""pam_limits reads the file first, then the folder in the order of the C locale (pam_limits(8))."""
SYSCTL_READ = tuple(f"{folder}/*.conf" for folder in SYSCTL_FOLDERS)
LIMITS_READ = (LIMITS_FILE, f"{LIMITS_FOLDER}/*.conf")
_LIMIT_TYPES = {"-": {"soft", "hard"}, "soft": {"soft"}, "hard": {"hard"}}


def sysctl_at_boot(texts: Mapping[str, str | None]) -> dict[str, tuple[str, str]]:
    """Return the value of each kernel setting after a reboot, and the file that sets it.

    A key with a pattern is omitted, because systemd applies it only to keys that no file names.

    Args:
        texts: contents by path, at least of `SYSCTL_READ`.
    """
    found: dict[str, tuple[str, str]] = {}
    for path, text in _sysctl_files(texts):
        for line in _lines(text, comments="#;"):
            key, separator, value = line.partition("=")
            name = key.strip().removeprefix("-").replace("/", ".")
            if separator and "*" not in name:
                found[name] = (" ".join(value.split()), path)
    return found


def overridden_limits(texts: Mapping[str, str | None], own: str) -> list[str]:
    """Return the lines of limits.conf(5) after the file `own` that override one of its lines, as `line (path)`.

    Args:
        texts: contents by path, at least of `LIMITS_READ`.
        own: path of a file in `LIMITS_FOLDER`.
    """
    ours = [words for line in _lines(texts.get(own), comments="#") if len(words := line.split()) == 4]
    found = []
    for path in sorted(path for path in texts if path.startswith(f"{LIMITS_FOLDER}/") and path > own):
        for line in _lines(texts[path], comments="#"):
            words = line.split()
            if any(_overrides(words, each) for each in ours):
                found.append(f"{' '.join(words)} ({path})")
    return found


def _sysctl_files(texts: Mapping[str, str | None]) -> list[tuple[str, str | None]]:
    """Return path and text of the files that count, in the order in which systemd-sysctl reads them."""
    chosen: dict[str, str] = {}
    for folder in reversed(SYSCTL_FOLDERS):
        chosen |= {path.rpartition("/")[2]: path for path in texts if path.rpartition("/")[0] == folder}
    return [(chosen[name], texts[chosen[name]]) for name in sorted(chosen)]


def _lines(text: str | None, *, comments: str) -> Iterator[str]:
    for raw in (text or "").splitlines():
        line = raw.strip()
        if line and line[0] not in comments:
            yield line


def _overrides(later: list[str], ours: list[str]) -> bool:
    """Return whether a line has the domain and the item of another, an overlapping type and another value."""
    if len(later) != 4 or (later[0], later[2]) != (ours[0], ours[2]) or later[3] == ours[3]:
        return False
    return bool(_LIMIT_TYPES.get(later[1], set()) & _LIMIT_TYPES.get(ours[1], set()))
