"""Old keys of site.yaml are errors that name the new key, together with every other problem of the file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from sovctl.engine.catalog import load_catalog
from sovctl.engine.spec import json_schema
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.engine.validation.renamed_keys import RENAMED_KEYS
from sovctl.support.errors import Problem, SpecError
from sovctl.support.renamed_keys import move_renamed_keys


def _problems(changes: dict[str, Any], sizing: dict[str, Any]) -> list[Problem]:
    site = yaml.safe_load((FOLDER / "bank-hybrid.yaml").read_text())
    site["perimeter"]["exceptions"][0]["expires"] = "2036-12-31"
    site["gateway"] |= changes
    site["sizing"] |= sizing
    path = Path("site.yaml")
    with pytest.raises(SpecError) as caught:
        parse(yaml.safe_dump(site).encode(), path=path, today=date(2026, 11, 21), catalog=load_catalog())
    return caught.value.problems


def test_old_keys_are_reported_together_with_other_problems() -> None:
    found = _problems(
        {"vault_ttl_s": 7, "token_key_versions": [2, 1], "link_hosts": ["crm.bank.example"], "port": "eight"},
        {"hall": {"rack_kw": 20, "racks": 0}},
    )
    said = {problem.where.partition(": ")[2]: problem.message for problem in found}
    assert said["gateway.vault_ttl_s"] == "the key was renamed to `gateway.vault.ttl_s`"
    assert said["gateway.token_key_versions"] == "the key was renamed to `gateway.token_keys[].version`"
    assert said["gateway.link_hosts"] == "the key was renamed to `gateway.restore.link_hosts`"
    assert said["sizing.hall"] == "the key was renamed to `sizing.racks`"
    assert said["sizing.hall.racks"] == "the key was renamed to `sizing.racks.count`"
    assert "a whole number" in said["gateway.port"]
    assert "from 60" in said["gateway.vault.ttl_s"]  # the value is checked at its new path
    assert "from 1" in said["sizing.racks.count"]
    assert len(said) == len(found) == 8


@pytest.mark.parametrize(("old", "new"), RENAMED_KEYS.items())
def test_new_paths_are_keys_of_the_schema_and_old_ones_are_not(old: str, new: str) -> None:
    def node(path: str) -> dict[str, Any]:
        return json_schema.node_at([0 if step == "[]" else step for step in path.replace("[]", ".[]").split(".")])

    assert node(new)
    assert not node(old)


def test_a_value_at_both_paths_keeps_the_new_one() -> None:
    moved, problems = move_renamed_keys({"a": {"old": 1}, "b": {"new": 2}}, {"a.old": "b.new"})
    assert moved == {"a": {}, "b": {"new": 2}}
    assert [each.where for each in problems] == ["a.old"]


@pytest.mark.parametrize("document", [None, 7, "text", [], {"a": None}, {"a": [1]}, {"a": {"old": 1}, "b": "text"}])
def test_any_document_is_accepted(document: Any) -> None:
    move_renamed_keys(document, {"a.old": "b.new", "a[].old": "a[].new", "a.*.old": "a.*.new"})
