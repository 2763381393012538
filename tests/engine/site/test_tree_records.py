"""Records of trees are stored by node, and a file that was changed by hand is rejected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sovctl.engine.resources.software.tree import TreeRecord
from sovctl.engine.site.tree_records import load, save
from sovctl.support.errors import InputError

ECHO = TreeRecord("/srv/sovctl/models/echo", "ab" * 32)
GATEWAY = TreeRecord("/opt/sovctl/gateway-0123456789ab", "cd" * 32, ("yaml/__init__.py: content",))


def test_before_the_first_apply_there_are_none(tmp_path: Path) -> None:
    assert load(tmp_path / "trees") == {}


def test_records_of_several_nodes_are_read_as_they_were_saved(tmp_path: Path) -> None:
    records = {("n1", "model/echo"): ECHO, ("s1", "environment/gateway"): GATEWAY}
    save(tmp_path, records)
    assert load(tmp_path) == records
    assert {path.name for path in tmp_path.iterdir()} == {"n1.json", "s1.json"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_changed_record_replaces_its_own_and_leaves_the_others(tmp_path: Path) -> None:
    save(tmp_path, {("n1", "model/echo"): ECHO, ("n1", "environment/gateway"): GATEWAY})
    found = TreeRecord(ECHO.root, ECHO.manifest_sha256, ("model.safetensors: content",))
    save(tmp_path, {("n1", "model/echo"): found})
    assert load(tmp_path) == {("n1", "model/echo"): found, ("n1", "environment/gateway"): GATEWAY}


def test_a_record_without_a_root_is_removed(tmp_path: Path) -> None:
    save(tmp_path, {("n1", "model/echo"): ECHO, ("n1", "environment/gateway"): GATEWAY})
    save(tmp_path, {("n1", "model/echo"): TreeRecord("", "ab" * 32)})
    assert load(tmp_path) == {("n1", "environment/gateway"): GATEWAY}


DAMAGED = {
    "no JSON": "{",
    "a list": "[]",
    "a record without findings": json.dumps({"model/echo": {"root": "/a", "manifest_sha256": "b"}}),
    "findings that are a number": json.dumps({"model/echo": {"root": "/a", "manifest_sha256": "b", "findings": 1}}),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=list(DAMAGED))
def test_a_file_that_was_changed_by_hand_is_rejected_with_its_path(text: str, tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(text)
    with pytest.raises(InputError, match="not a file with records of trees") as error:
        load(tmp_path)
    assert error.value.where == str(tmp_path / "n1.json")
