"""The recorded flags of vLLM are those of its parser, and each is a field of a pool, set by sovctl, or refused."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.serve_flags import load_serve_flags
from sovctl.engine.resources.serving.flags import POOL_FIELDS
from sovctl.engine.spec import Pool
from sovctl.engine.spec.serving.section import ServeSection, flag_name
from sovctl.engine.spec.serving.withheld import REFUSED, SET_BY_SOVCTL

ROOT = Path(__file__).parents[3]
TABLE = load_serve_flags()
CONVERTED = {"kv_cache_memory_bytes", "gpu_memory_utilization", "data_parallel_size", "port"}
PARSER_FIELDS = {"tool_call_parser", "enable_auto_tool_choice", "reasoning_parser", "chat_template"}


def _inside(annotation: Any) -> list[Any]:
    """Return all parts of an annotation."""
    return [annotation, *(part for each in get_args(annotation) for part in _inside(each))]


def _fields() -> dict[str, Any]:
    """Return the annotation of every field of a pool that is a flag, by flag."""
    found = {
        flag_name(name): Pool.model_fields[name].annotation
        for name in (*POOL_FIELDS, *CONVERTED, "structured_outputs_config", "speculative_config")
    }
    for field in Pool.model_fields.values():
        sections = [
            each for each in _inside(field.annotation) if isinstance(each, type) and issubclass(each, ServeSection)
        ]
        for section in sections:
            if section.as_json:
                continue
            names = set(section.model_fields) - (section.not_flags - PARSER_FIELDS)
            found |= {flag_name(name): section.model_fields[name].annotation for name in names}
    return found


def test_every_flag_is_a_field_or_set_by_sovctl_or_refused_and_only_one_of_them() -> None:
    groups = (set(_fields()), set(SET_BY_SOVCTL), set(REFUSED))
    assert set().union(*groups) == set(TABLE.flags)
    assert sum(map(len, groups)) == len(TABLE.flags)


@pytest.mark.parametrize("flag", sorted(_fields()))
def test_a_field_has_the_type_and_only_choices_of_its_flag(flag: str) -> None:
    parts, row = _inside(_fields()[flag]), TABLE.flags[flag]
    literals = [str(value) for each in parts if get_origin(each) is Literal for value in get_args(each)]
    if row.choices and row.type != "json":
        assert literals, "expected choices, because vLLM lists them"
        assert set(literals) <= set(row.choices) | {"auto"}
    if row.type == "bool":
        assert bool in parts
    if row.type == "int":
        assert int in parts or all(value.isdecimal() for value in literals)
    if row.type == "float":
        assert float in parts
    if row.is_list:
        assert list in map(get_origin, parts)


def test_parsers_of_the_catalogue_are_parsers_of_vllm() -> None:
    for model in load_catalog().models.values():
        assert model.vllm.tool_call_parser in (None, *TABLE.tool_call_parsers)
        assert model.vllm.reasoning_parser in (None, *TABLE.reasoning_parsers)


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed here")
def test_the_table_is_that_of_the_installed_vllm() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "serve_flags.py"), TABLE.engine_version]
    recorded = yaml.safe_load(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    shipped = yaml.safe_load((ROOT / "engine" / "catalog" / "serve_flags.yaml").read_text())
    for each in (recorded, shipped):
        del each["date"]
    assert recorded == shipped
