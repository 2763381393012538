"""Package sources of dnf: a `.repo` file of the operator.

The index of a source must be authenticated: by TLS, by a signature (`repo_gpgcheck=1` with `gpgkey`), or because it is
a local file. Options that weaken it are refused.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

_LISTS = frozenset({"baseurl", "gpgkey", "excludepkgs", "includepkgs"})
_OPTIONS = _LISTS | {"name", "repo_gpgcheck", "priority", "sslcacert", "sslclientcert", "sslclientkey"}
"""Options of dnf.conf(5) that take effect."""
_IGNORED = frozenset({"enabled", "gpgcheck", "metadata_expire", "type"})
"""Options without effect on a solution."""
LIMIT_BYTES = 1 << 20


def read_repositories(path: Path) -> dict[str, dict[str, object]]:
    """Return the options of the enabled sources by id.

    Raises:
        InputError: unreadable, without an enabled source, or a source is not authenticated.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(read_bounded(path, LIMIT_BYTES).decode())
    except (OSError, UnicodeDecodeError, configparser.Error):
        raise InputError("unreadable package sources", where=str(path), hint="see dnf.conf(5)") from None
    found = {
        name: _options(dict(parser[name]), where=f"{path}: {name}")
        for name in parser.sections()
        if parser[name].get("enabled", "1").strip() != "0"
    }
    if not found:
        raise InputError("no enabled package source", where=str(path), hint="see dnf.conf(5)")
    return found


def is_subscription(options: Mapping[str, object]) -> bool:
    """Return whether a source needs an entitlement, whose content may not be handed to third parties."""
    return "sslclientcert" in options


def _options(values: dict[str, str], *, where: str) -> dict[str, object]:
    if unknown := sorted(values.keys() - _OPTIONS - _IGNORED):
        raise InputError(f"option `{unknown[0]}` is not supported", where=where, hint="remove it")
    options: dict[str, object] = {}
    for name in sorted(values.keys() & _OPTIONS):
        text = values[name].strip()
        options[name] = text.replace(",", " ").split() if name in _LISTS else text
    urls = values.get("baseurl", "").split()
    if not urls:
        raise InputError("no baseurl", where=where, hint="name the mirror, because lists of mirrors change")
    is_signed = values.get("repo_gpgcheck", "0").strip() == "1" and "gpgkey" in values
    for url in urls:
        if "@" in urlsplit(url).netloc:
            raise InputError("a package source contains credentials", where=where, hint="use a mirror without login")
        if urlsplit(url).scheme not in ("https", "file") and not is_signed:
            hint = "use https, or repo_gpgcheck=1 with gpgkey"
            raise InputError("the index of a package source is not authenticated", where=where, hint=hint)
    return options | {"repo_gpgcheck": is_signed}
