"""The same site with something changed: `workload[branches].users=3000`, `node_groups[dgx].platform=dgx-h200`.

changed(loaded, ["pools[assistant].kv_cache_dtype=fp8"])     # a LoadedSpec, checked as any other
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
    """A site with some values set.

    Args:
        settings: `PATH=VALUE`; items of lists by number or by name. Values are read as in site.yaml.

    Raises:
        InputError: a setting that is none, or names a place that is not there.
        SpecError: the site is wrong with them.
    """
    value = copy.deepcopy(loaded.text.value)
    for setting in settings:
        path, sign, text = setting.partition("=")
        if not sign or not path.strip():
            hint = "--what-if 'workload[chat].users=3000'"
            raise InputError(f"expected PATH=VALUE, got {setting!r}", where="--what-if", hint=hint)
        _set(value, loaded.text.by_index(path.strip()), _value(text.strip()), said=path.strip())
    data = yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode()
    try:
        return parse(data, path=loaded.path, today=today, catalog=catalog, is_draft=True)
    except SpecError as error:  # lines are of a text that nobody wrote
        raise SpecError([_without_line(each, str(loaded.path)) for each in error.problems]) from None


def _without_line(problem: Problem, path: str) -> Problem:
    place = problem.where.removeprefix(path).partition(": ")[2]
    return Problem(problem.message, where=f"--what-if: {place}" if place else "--what-if", hint=problem.hint)


def _value(text: str) -> Any:
    """As in site.yaml, lists in brackets and mappings in braces too; what is no YAML is the text itself."""
    try:
        [value] = read_text(f"value: {text}".encode()).value.values()
    except (YamlSyntaxError, ValueError):
        return resolve(text)
    return value


def _set(value: Any, path: str, new: Any, *, said: str) -> None:
    """Put `new` at `path`, whose items are numbered; `said` is the path as it was written."""
    *before, last = steps(path) or [""]
    here = value
    for step in before:
        if isinstance(here, dict) and isinstance(step, str):
            here = here.setdefault(step, {})
        elif _has_item(here, step):
            here = here[step]
        else:
            raise _no_place(said, here)
    if not (isinstance(here, dict) and isinstance(last, str)) and not _has_item(here, last):
        raise _no_place(said, here)
    here[last] = new


def _has_item(here: Any, step: str | int) -> bool:
    return isinstance(here, list) and isinstance(step, int) and step < len(here)


def _no_place(said: str, here: Any) -> InputError:
    """What is said of a path that leads nowhere; `here` is what stands at its last step that is there."""
    items = here if isinstance(here, list) else []
    names = [str(each["name"]) for each in items if isinstance(each, dict) and "name" in each]
    hint = "name a place as errors do: pools[chat].max_num_seqs"
    if names:
        hint = f"there are {', '.join(names[:MAX_NAMES])}"
    return InputError(f"expected a place of site.yaml, got `{said}`", where="--what-if", hint=hint)
