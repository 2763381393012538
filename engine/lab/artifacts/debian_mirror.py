"""Debian mirror for the lab's image and packages: the mirror that this machine uses, or Debian's default mirror.

Nodes have no access to it. A machine without Debian 12 sources uses the default mirror.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.errors import MissingTool

from ..linux.process import LabFailure, run

SUITE = "bookworm"  # Debian 12 has Python 3.11, which the CPU build of torch requires
FALLBACK = "http://deb.debian.org/debian"  # https://www.debian.org/mirror/list, "redirects to a close mirror"
FALLBACK_SECURITY = "http://deb.debian.org/debian-security"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Settings of this machine's apt that also apply to the lab's image.
_COPIED_SETTINGS = (
    "Acquire::http::Proxy",
    "Acquire::https::Proxy",
    "Acquire::Check-Valid-Until",
    "Acquire::Check-Date",
)


@dataclass(frozen=True)
class Mirror:
    """Sources of Debian 12.

    `entries` are (URI, suite) pairs, the main suite first.
    """

    entries: tuple[tuple[str, str], ...]

    @property
    def main(self) -> str:
        """URI of the main suite, for debootstrap."""
        return self.entries[0][0]

    def sources(self) -> str:
        """Return one-line sources for the creation of the image."""
        return "".join(f"deb [signed-by={KEYRING}] {uri} {suite} main\n" for uri, suite in self.entries)


def find(override: str | None = None) -> Mirror:
    """Return the mirror to use.

    Args:
        override: URI of a Debian mirror, with its security archive at `<uri>-security`.
    """
    if override:
        base = override.rstrip("/")
        return _mirror(base, f"{base}-security")
    entries = parse_targets(_targets())
    if any(suite == SUITE for _, suite in entries):
        return Mirror(tuple(sorted(entries, key=lambda entry: (entry[1] != SUITE, entry[1], entry[0]))))
    return _mirror(FALLBACK, FALLBACK_SECURITY)


def _mirror(main: str, security: str) -> Mirror:
    return Mirror(((main, SUITE), (security, f"{SUITE}-security"), (main, f"{SUITE}-updates")))


def _targets() -> str:
    """Return the configured sources of apt as "URI SUITE COMPONENT ORIGIN" lines; empty without apt."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"
    try:
        return run(
            ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
            purpose="read this machine's apt sources",
        )
    except (MissingTool, LabFailure):
        return ""


def parse_targets(text: str) -> set[tuple[str, str]]:
    """Return (URI, suite) of the Debian 12 sources in apt's index targets.

    Other publishers have `bookworm main` too, but not `Origin: Debian`. debootstrap requires HTTP, so lists of mirrors
    (on cloud images) and discs are ignored.
    """
    suites = {SUITE, f"{SUITE}-updates", f"{SUITE}-security"}
    found = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[1] in suites and words[2:] == ["main", "Debian"] and words[0].startswith("http"):
            found.add((words[0].rstrip("/"), words[1]))
    return found


def apt_options() -> list[str]:
    """Return `-o` options with the settings of this machine's apt for its mirror."""
    found = {name: _setting(name) for name in _COPIED_SETTINGS}
    return [word for name, value in found.items() if value for word in ("-o", f"{name}={value}")]


def environment() -> dict[str, str]:
    """Return the same settings as environment for debootstrap, which uses wget instead of apt."""
    found = {f"{scheme}_proxy": _setting(f"Acquire::{scheme}::Proxy") for scheme in ("http", "https")}
    return {name: value for name, value in found.items() if value}


def _setting(name: str) -> str:
    """Return a setting of this machine's apt; empty if unset."""
    done = subprocess.run(["apt-config", "shell", "value", name], capture_output=True, text=True, check=False)
    return done.stdout.strip().partition("=")[2].strip("'") if done.returncode == 0 else ""
