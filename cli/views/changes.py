"""Texts of the changes of a plan: one phrase for each, in which values mean something to a reader.

A digest is never shown, only that its content changes; `--details` prints both digests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sovctl.engine.resources.resource import Change, Verb

SHORT = {"is_held": ("not held", "held"), "runs_what_is_written": ("runs old files", "runs current files")}
"""Labels of boolean values by key: (false, true)."""
RUNNING = "running_"
"""Prefix of keys with the flags, variables and engine of a process, of which a phrase shows each difference."""
SHOWN = 2
"""Number of keys in a phrase."""
BARE = ("version", "fingerprint", "status", "active", "enabled")
"""Keys whose value is clear without its name."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def phrase(change: Change) -> str:
    """Return a change as a phrase: `580.126.20-1 -> 580.173.02-1`, `+3 rules`, `unit changes`, `new: 21 rules`."""
    match change.verb:
        case Verb.CREATE:
            return _joined("new", _new(change.after or {}))
        case Verb.DELETE:
            return _joined("removed", _new(change.before or {}))
    before, after = change.before or {}, change.after or {}
    return _shown([text for key, value in after.items() for text in _changed(key, before.get(key), value)])


def details(change: Change) -> Iterator[tuple[str, str]]:
    """Yield one line for each changed key, and for each item of a list, with the style of the line."""
    for key in change.after or change.before or {}:
        old, new = (change.before or {}).get(key), (change.after or {}).get(key)
        if isinstance(new, list) or isinstance(old, list):
            yield f"{key}:", ""
            yield from ((f"  - {item}", "red") for item in old or [] if item not in (new or []))
            yield from ((f"  + {item}", "green") for item in new or [] if item not in (old or []))
        else:
            yield f"{key}: {value_text(old)} -> {value_text(new)}", ""


def value_text(value: Any) -> str:
    """Return a value of a state as text."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _joined(word: str, parts: Iterator[str]) -> str:
    shown = _shown(list(parts))
    return f"{word}: {shown}" if shown else word


def _shown(parts: list[str]) -> str:
    more = len(parts) - SHOWN
    return ", ".join(parts[:SHOWN]) + (f" +{more} more" if more > 0 else "")


def _new(state: Any) -> Iterator[str]:
    """Yield the telling values of a new or removed resource: versions, states of units, and numbers of items."""
    for key, value in state.items():
        if isinstance(value, list):
            if value:
                yield f"{len(value)} {_words(key) if len(value) > 1 else _words(key).removesuffix('s')}"
        elif isinstance(value, bool) and key in SHORT:
            yield SHORT[key][value]
        elif key in BARE and not str(value).startswith("("):  # a placeholder such as `(created by apply)`
            yield value_text(value)


def _changed(key: str, old: Any, new: Any) -> Iterator[str]:
    if key == "causes":  # the reason of a reboot contains them
        return
    if isinstance(new, list):
        was = old if isinstance(old, list) else []
        if key.startswith(RUNNING):
            gone, come = [each for each in was if each not in new], [each for each in new if each not in was]
            yield f"runs {' '.join(gone) or '(none)'} -> {' '.join(come) or '(none)'}"
            return
        counts = ((len([item for item in new if item not in was]), "+"), (len([i for i in was if i not in new]), "-"))
        texts = [f"{sign}{count}" for count, sign in counts if count]
        yield f"{'/'.join(texts)} {_words(key)}" if texts else f"order of {_words(key)}"
    elif _is_digest(new) or _is_digest(old) or key.endswith("_sha256"):
        yield f"{_words(key.removesuffix('_sha256'))} {'is absent' if old is None else 'changes'}"
    elif key in SHORT and isinstance(new, bool) and isinstance(old, bool):
        yield f"{SHORT[key][old]} -> {SHORT[key][new]}"
    elif key in SHORT and isinstance(old, str):
        yield f"{old} -> {SHORT[key][bool(new)]}"
    elif key == "boot_id":
        yield f"boot {value_text(old)[:8]} -> {value_text(new)}"
    elif key in SHORT:
        yield f"{SHORT[key][bool(old)]} -> {value_text(new)}"
    else:
        name = "" if key in BARE else f"{key} "
        yield f"{name}{value_text(old)} -> {value_text(new)}"


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _words(key: str) -> str:
    return key.replace("_", " ")
