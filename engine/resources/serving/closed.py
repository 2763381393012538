"""Settings of the serve profile that a process lacks. Pure.

missing_settings(["front", "flag middleware"], flags, variables)     # ["flag middleware"]
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from .profile import ABSENT_FLAGS, ABSENT_VARIABLES, FLAGS, LIMITS, TLS_FLAGS, VARIABLES, Setting


def flags_by_name(given: Iterable[str]) -> dict[str, str]:
    """Return the values of flags in the form of `given_flags`, by name; empty for a flag without value."""
    pairs = (flag.partition(" ") for flag in given)
    return {name: value for name, _, value in pairs}


def missing_settings(names: Iterable[str], flags: Mapping[str, str], variables: Mapping[str, str]) -> list[str]:
    """Return the settings of an advisory (`engine/catalog/advisories.yaml`) that a process lacks.

    Args:
        flags: values by name, of the arguments of the process.
        variables: environment of the process.
    """
    return [name for name in names if not _is_present(name, flags, variables)]


def _is_present(setting: str, flags: Mapping[str, str], variables: Mapping[str, str]) -> bool:
    if setting == "front":
        return "uds" in flags or has_value(TLS_FLAGS["ssl-cert-reqs"], flags.get("ssl-cert-reqs"))
    is_absence = setting.startswith("no ")
    kind, _, name = setting.removeprefix("no ").partition(" ")
    if is_absence:
        return name not in flags if kind == "flag" else variables.get(name) in (None, "0")
    if name == "middleware" and "uds" in flags:
        return True  # the proxy of the swap group closes the routes
    table, given = (FLAGS, flags) if kind == "flag" else (VARIABLES, variables)
    return has_value(table[name], given.get(name))


def has_value(setting: Setting, value: str | None) -> bool:
    """Return whether a flag or variable has the value of the profile.

    Args:
        value: text of the flag, empty for a flag without value; None if it is absent.
    """
    if value is None:
        return False
    if setting.value is None:
        return True
    wanted = "" if setting.value is True else setting.value
    return value == (" ".join(wanted) if isinstance(wanted, list) else str(wanted))


def profile_findings(
    flags: Mapping[str, str], variables: Mapping[str, str], *, permitted: Iterable[str] = ()
) -> list[tuple[str, str, str]]:
    """Return the differences of a process from the serve profile: expected, found, and the reason.

    Args:
        permitted: flags and variables of the plan of the server that the profile otherwise excludes.
    """
    has_port, allowed = "uds" not in flags, set(permitted)
    wanted = {name: each for name, each in FLAGS.items() if has_port or name != "middleware"}
    wanted |= TLS_FLAGS if has_port else {}
    rows = [(f"--{name}", each, flags.get(name)) for name, each in wanted.items()]
    rows += [(name, each, variables.get(name)) for name, each in VARIABLES.items()]
    found = [
        (f"{name} {'' if each.value in (None, True) else each.value}".strip(), value or "not set", each.reason)
        for name, each, value in rows
        if not has_value(each, value)
    ]
    found += [
        (f"no --{name}", "set", reason)
        for name, reason in ABSENT_FLAGS.items()
        if name in flags and name not in allowed
    ]
    found += [
        (f"no {name}", "set", reason)
        for name, reason in ABSENT_VARIABLES.items()
        if variables.get(name) not in (None, "0") and name not in allowed
    ]
    return found


def media_findings(flags: Mapping[str, str], closed: Collection[str]) -> list[tuple[str, str, str]]:
    """Return the ways in which a process accepts or fetches media that its site does not permit, as `profile_findings`.

    Args:
        flags: values by name, of the arguments of the process.
        closed: kinds of media whose limit must be 0.
    """
    found = []
    if flags.get("allowed-media-domains") == "":
        found.append(("--allowed-media-domains with a host", "no host", "the server fetches media from every host"))
    if "language-model-only" in flags:
        return found
    limits = _limits(flags.get(LIMITS))
    found += [
        (
            f"--{LIMITS} with {kind} 0",
            str(limits.get(kind, "not set")),
            "the server decodes media that the site refuses",
        )
        for kind in closed
        if limits.get(kind) != 0 or isinstance(limits.get(kind), bool)
    ]
    return found


def _limits(text: str | None) -> dict[str, object]:
    """Return the limits by kind; empty without the flag, or if it is not an object."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
