"""Changes values of a loaded site: `workload[branches].users=3000`, `node_groups[dgx].platform=dgx-h200`.

changed(loaded, ["pools[assistant].kv_cache_dtype=fp8"])     # a validated LoadedSpec
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import date
from typing import Any

import yaml

from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import YamlSyntaxError, read_text, resolve, steps

from ..catalog import Catalog
from .load import LoadedSpec, parse
from .rules.rule import MAX_NAMES


def changed(loaded: LoadedSpec, settings: Sequence[str], *, today: date, catalog: Catalog) -> LoadedSpec:
    """Return the site with these values.

    Args:
        settings: `PATH=VALUE`; list items by index or name. Values have the syntax of site.yaml.

    Raises:
        InputError: a setting is malformed, or its path does not exist.
        SpecError: the changed site is invalid.
    """
    value = copy.deepcopy(loaded.text.value)
    for setting in settings:
        path, sign, text = setting.partition("=")
        if not sign or not path.strip():
            hint = "--what-if 'workload[chat].users=3000'"
            raise InputError(f"expected PATH=VALUE, got {setting!r}", where="--what-if", hint=hint)
        _set(value, loaded.text.by_index(path.strip()), _value(text.strip()), written=path.strip())
    data = yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode()
    try:
        return parse(data, path=loaded.path, today=today, catalog=catalog, is_draft=True)
    except SpecError as error:  # line numbers would refer to generated text
        raise SpecError([_without_line(each, str(loaded.path)) for each in error.problems]) from None


def _without_line(problem: Problem, path: str) -> Problem:
    place = problem.where.removeprefix(path).partition(": ")[2]
    return Problem(problem.message, where=f"--what-if: {place}" if place else "--what-if", hint=problem.hint)


def _value(text: str) -> Any:
    """Parse a value as in site.yaml, including lists in brackets and mappings in braces; invalid YAML is a plain
    text."""
    try:
        [value] = read_text(f"value: {text}".encode()).value.values()
    except (YamlSyntaxError, ValueError):
        return resolve(text)
    return value


def _set(value: Any, path: str, new: Any, *, written: str) -> None:
    """Set `new` at `path`, which has item numbers; `written` is the path as the user wrote it."""
    *before, last = steps(path) or [""]
    here = value
    for step in before:
        if isinstance(here, dict) and isinstance(step, str):
            here = here.setdefault(step, {})
        elif _has_item(here, step):
            here = here[step]
        else:
            raise _no_place(written, here)
    if not (isinstance(here, dict) and isinstance(last, str)) and not _has_item(here, last):
        raise _no_place(written, here)
    here[last] = new


def _has_item(here: Any, step: str | int) -> bool:
    return isinstance(here, list) and isinstance(step, int) and step < len(here)


def _no_place(written: str, here: Any) -> InputError:
    """Return the error of a path that does not exist; `here` is the value at its last existing step."""
    items = here if isinstance(here, list) else []
    names = [str(each["name"]) for each in items if isinstance(each, dict) and "name" in each]
    hint = "write a path such as pools[chat].max_num_seqs"
    if names:
        hint = f"known names: {', '.join(names[:MAX_NAMES])}"
    return InputError(f"no such path in site.yaml: `{written}`", where="--what-if", hint=hint)
