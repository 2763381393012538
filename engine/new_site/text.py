"""Writes and checks the text of a new site.yaml.

text = site_text(answers, today=date.today())     # passes `sovctl validate`
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from sovctl.support.package_files import package_folder

from ..catalog import load_catalog
from ..validation.load import LoadedSpec, parse
from .answers import NewSite

FIRST_PORT, PORT_STEP = 8000, 100
"""Port of the first pool, and the step to the next one: a pool has fewer than 100 replicas on a node."""
EXCEPTION_DAYS = 365
_MAX_LEN = 16384
"""Tokens of prompt and answer. Chosen: 16 times a long page; `sovctl size` shows the effect of another value."""


def site_text(answers: NewSite, *, today: date) -> str:
    """Return the text of site.yaml. It is not checked."""
    catalog = load_catalog()
    entries = [catalog.models[each] for each in answers.models]
    pools: list[dict[str, Any]] = [
        {
            "model": entry.id,
            "name": f"pool-{number}",
            "max_model_len": min(_MAX_LEN, entry.max_context or _MAX_LEN),
            "port": FIRST_PORT + PORT_STEP * (number - 1),
            "has_conditions": entry.licence.needs_approval,
        }
        for number, entry in enumerate(entries, 1)
    ]
    return _template().render(
        site=answers,
        pools=pools,
        driver_lock=max(catalog.driver_locks),
        engine_version=max(each.removeprefix("vllm-") for each in catalog.engines if re.match(r"vllm-\d", each)),
        expires=(today + timedelta(days=EXCEPTION_DAYS)).isoformat(),
    )


def check(answers: NewSite, *, path: Path, today: date) -> LoadedSpec:
    """Check the text of the answers as `sovctl validate` does.

    Raises:
        SpecError: all problems, such as a model that does not fit.
    """
    return parse(site_text(answers, today=today).encode(), path=path, today=today, catalog=load_catalog())


@cache
def _template() -> Template:
    environment = Environment(  # noqa: S701 - YAML, in which each value is a JSON scalar
        loader=FileSystemLoader(package_folder("templates/site")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["scalar"] = lambda value: json.dumps(str(value), ensure_ascii=False)
    return environment.get_template("new-site.yaml.j2")
