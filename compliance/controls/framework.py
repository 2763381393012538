"""Control frameworks as data: the packs of sovctl, and of a site.

`packs/<folder>/<name>.yaml` lists all controls of a framework, because coverage is reported relative to the whole
framework. A control refers to objectives of `packs/objectives.yaml`; see `pack_file` for the format.

    pack = load_pack(builtin_pack("nist-800-53-moderate"), known_checks=check_ids)

Files are read only when a pack is loaded. A file that is a link, not regular or larger than 1 MiB is rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import MAX_BYTES, YamlSyntaxError, YamlText, read_text
from sovctl.support.suggestions import nearest

from .builtin_packs import FOLDER, pack_files, pack_names
from .pack import Control, ControlMap, Objective, Pack
from .pack_file import Known, objectives_of, pack_of, selection_of

__all__ = [
    "Control",
    "ControlMap",
    "Objective",
    "Pack",
    "builtin_pack",
    "checks_without_objective",
    "find_pack",
    "load_pack",
    "pack_names",
    "shipped_objectives",
]

_WHAT = "the pack"


def builtin_pack(name: str) -> Path:
    """Return the file of a framework that is part of sovctl.

    Raises:
        InputError: unknown name.
    """
    return find_pack(name, ())


def find_pack(name: str, own: Sequence[Path], *, where: str = "site.yaml: compliance.packs") -> Path:
    """Return the file of a framework by name.

    Args:
        own: files of the packs of a site; the stem is the name.
        where: origin of the name, for the message.

    Raises:
        InputError: unknown name, or the name of a pack of sovctl is used again.
    """
    known = pack_files() | {path.stem: path for path in own}
    for path in own:
        if path.stem in pack_files():
            raise InputError(f"pack {path.stem} is part of sovctl", where=str(path), hint="rename the file")
    if name not in known:
        near = nearest(name, list(known))
        raise InputError(
            f"unknown pack {name}, expected one of {', '.join(known)}",
            where=where,
            hint=f"did you mean {near}?" if near else "list them with `sovctl report packs`",
        )
    return known[name]


def load_pack(
    path: Path, *, known_checks: Collection[str] | None = None, former_ids: Mapping[str, str] | None = None
) -> Pack:
    """Read a framework.

    Args:
        known_checks: ids of all checks. Another id is rejected, because its control could never be assessed. None: no
            validation.
        former_ids: current check id by former id; the pack has current ids.

    Raises:
        InputError: unreadable file.
        SpecError: all problems of the file.
    """
    checks = None if known_checks is None else frozenset(known_checks)
    known = Known(_objectives(checks, tuple((former_ids or {}).items())), checks, former_ids)
    text = _read(path)
    if isinstance(text.value, dict) and "of" in text.value:
        pack, problems = selection_of(text.value, _catalogue(path, text.value["of"], known), stem=path.stem)
    else:
        pack, problems = pack_of(text.value, known, stem=path.stem)
    problems = [*text.problems, *problems]
    if pack is None or problems:
        raise _spec_error(path, text, problems)
    return pack


def shipped_objectives(*, known_checks: Collection[str] | None = None) -> Mapping[str, Objective]:
    """Return the objectives of sovctl by name.

    Raises:
        SpecError: an objective has an unknown check.
    """
    return _objectives(None if known_checks is None else frozenset(known_checks), ())


def checks_without_objective() -> Mapping[str, str]:
    """Return the reason for each check of sovctl that is in no objective."""
    listed = (_read(FOLDER / "objectives.yaml").value or {}).get("without_objective") or {}
    return {str(check): str(reason) for check, reason in listed.items()}


def _catalogue(selection: Path, name: Any, known: Known) -> Pack:
    """Return the catalogue of a baseline, a file in the same folder."""
    path = selection.parent / Path(str(name)).name
    text = _read(path)
    pack, problems = pack_of(text.value, known, stem=path.stem)
    if pack is None or problems or text.problems:
        raise _spec_error(path, text, [*text.problems, *problems])
    return pack


@cache
def _objectives(checks: frozenset[str] | None, former_ids: tuple[tuple[str, str], ...]) -> dict[str, Objective]:
    path = FOLDER / "objectives.yaml"
    text = _read(path)
    found, problems = objectives_of((text.value or {}).get("objectives"), Known({}, checks, dict(former_ids)))
    if problems or text.problems:
        raise _spec_error(path, text, [*text.problems, *problems])
    return found


def _read(path: Path) -> YamlText:
    if path.is_symlink():
        raise InputError("expected a file, got a link", where=str(path), hint="copy the pack to this place")
    try:
        return read_text(read_bounded(path, MAX_BYTES))
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(f"cannot read the pack: {reason}", where=str(path)) from None
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)], what=_WHAT) from None


def _spec_error(path: Path, text: YamlText, problems: Sequence[Problem]) -> SpecError:
    ordered = sorted(problems, key=lambda each: (text.line(each.where), each.where))
    return SpecError([text.placed(path, each) for each in ordered], what=_WHAT)
