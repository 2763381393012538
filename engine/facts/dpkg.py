r"""What dpkg and apt say is installed and held.

Commands: `dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n'`, `apt-mark showhold`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class DpkgEntry:
    """One line of dpkg-query. `status` is dpkg's abbreviation, such as "ii" (installed) or "hi" (held, installed)."""

    name: str
    version: str
    architecture: str
    status: str

    @property
    def is_installed(self) -> bool:
        """True when unpacked and configured: "rc" (removed), "iU" and "iF" (half way) are not."""
        return len(self.status) == 2 and self.status[1] == "i"


def parse_packages(text: str) -> tuple[DpkgEntry, ...]:
    """Every package dpkg knows, in its order; a name may come twice, once per architecture.

    Raises:
        Unreadable: nothing was printed, or a line has not four fields.
    """
    packages = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 4 or not fields[0]:
            raise Unreadable("four fields between tabs", line, where="dpkg-query")
        name, version, architecture, status = fields
        packages.append(DpkgEntry(name, version, architecture, status.strip()))
    if not packages:
        raise Unreadable("packages", text, where="dpkg-query")
    return tuple(packages)


def installed_versions(packages: tuple[DpkgEntry, ...]) -> dict[str, str]:
    """Version by name, of installed packages only."""
    return {package.name: package.version for package in packages if package.is_installed}


def parse_holds(text: str) -> frozenset[str]:
    """Names that `apt-mark showhold` printed; empty when nothing is held.

    Raises:
        Unreadable: a line is more than a name.
    """
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if spoilt := [name for name in names if " " in name]:
        raise Unreadable("one package name a line", spoilt[0], where="apt-mark showhold")
    return frozenset(name.partition(":")[0] for name in names)
