"""Where the lab gets Debian packages from: the mirror this machine already uses, or Debian's own.

Only read here; the nodes never see it. On a machine that is not Debian the documented fallback is used.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.errors import MissingTool

from ..linux.process import LabFailure, run

SUITE = "bookworm"  # Debian 12: its Python 3.11 is the one the CPU build of torch at hand is made for
FALLBACK = "http://deb.debian.org/debian"  # https://www.debian.org/mirror/list, "redirects to a close mirror"
FALLBACK_SECURITY = "http://deb.debian.org/debian-security"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What this machine's apt was told about reaching its mirror has to hold for the lab's image too.
_CARRIED = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until", "Acquire::Check-Date")


@dataclass(frozen=True)
class Mirror:
    """Sources of Debian 12.

    `entries` are (URI, suite) pairs, the main suite first.
    """

    entries: tuple[tuple[str, str], ...]

    @property
    def main(self) -> str:
        """URI of the suite itself, for debootstrap."""
        return self.entries[0][0]

    def sources(self) -> str:
        """One-line sources for the image while it is being made."""
        return "".join(f"deb [signed-by={KEYRING}] {uri} {suite} main\n" for uri, suite in self.entries)


def find(override: str | None = None) -> Mirror:
    """The mirror to use.

    Args:
        override: URI of a Debian mirror; its security archive is expected beside it as `<uri>-security`.
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
    """What apt has configured, as "URI SUITE COMPONENT ORIGIN" lines; empty without apt."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"
    try:
        return run(
            ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
            purpose="read this machine's apt sources",
        )
    except (MissingTool, LabFailure):
        return ""


def parse_targets(text: str) -> set[tuple[str, str]]:
    """(URI, suite) of the Debian 12 sources among apt's index targets.

    Others publish `bookworm main` too; only Debian's own Release files say `Origin: Debian`. What is not fetched over
    HTTP (a list of mirrors, as cloud images have, or a disc) debootstrap cannot use.
    """
    suites = {SUITE, f"{SUITE}-updates", f"{SUITE}-security"}
    found = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[1] in suites and words[2:] == ["main", "Debian"] and words[0].startswith("http"):
            found.add((words[0].rstrip("/"), words[1]))
    return found


def apt_options() -> list[str]:
    """`-o` options that carry this machine's way to its mirror."""
    found = {name: _setting(name) for name in _CARRIED}
    return [word for name, value in found.items() if value for word in ("-o", f"{name}={value}")]


def environment() -> dict[str, str]:
    """The same for debootstrap, which asks wget and not apt."""
    found = {f"{scheme}_proxy": _setting(f"Acquire::{scheme}::Proxy") for scheme in ("http", "https")}
    return {name: value for name, value in found.items() if value}


def _setting(name: str) -> str:
    """One of this machine's apt settings; empty when it is not set."""
    done = subprocess.run(["apt-config", "shell", "value", name], capture_output=True, text=True, check=False)
    return done.stdout.strip().partition("=")[2].strip("'") if done.returncode == 0 else ""
