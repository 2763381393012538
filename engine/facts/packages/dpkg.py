"""Parsers of installed and held packages.

Commands: `PACKAGES` or `RPM_PACKAGES`, which print the same form, and `apt-mark showhold`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..unreadable import Unreadable

PACKAGES = ("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n")
RPM_PACKAGES = ("rpm", "-qa", "--qf", "%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\t%{ARCH}\tii \n")


@dataclass(frozen=True, slots=True)
class DpkgEntry:
    """One line of dpkg-query. `status` is dpkg's abbreviation: "ii" is installed, "hi" is installed and held."""

    name: str
    version: str
    architecture: str
    status: str

    @property
    def is_installed(self) -> bool:
        """Whether the package is unpacked and configured. "rc" (removed), "iU" and "iF" (incomplete) are not."""
        return len(self.status) == 2 and self.status[1] == "i"


def parse_packages(text: str) -> tuple[DpkgEntry, ...]:
    """Parse the output of dpkg-query, in its order. A name can occur once for each architecture.

    Raises:
        Unreadable: the output is empty, or a line does not have four fields.
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
    """Return versions of installed packages by name."""
    return {package.name: package.version for package in packages if package.is_installed}


def parse_holds(text: str) -> frozenset[str]:
    """Parse the names printed by `apt-mark showhold`; empty without held packages.

    Raises:
        Unreadable: a line is not a name.
    """
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if invalid := [name for name in names if " " in name]:
        raise Unreadable("one package name a line", invalid[0], where="apt-mark showhold")
    return frozenset(name.partition(":")[0] for name in names)
