"""Readings on the controller: kept by node and check, and never repaired."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine.facts.counters import CounterReading
from sovctl.engine.site.counter_records import drop, load, save
from sovctl.support.errors import InputError

FIRST = CounterReading("b1", 100.5, {"a": 1, "b": 0})


def test_readings_of_other_checks_and_nodes_remain(tmp_path: Path) -> None:
    assert load(tmp_path / "none") == {}
    save(tmp_path, {("n1", "ib.x"): FIRST, ("n2", "ib.x"): FIRST})
    second = CounterReading("b2", 7.0, {"a": 3})
    save(tmp_path, {("n1", "bus.x"): second, ("n1", "ib.x"): second})
    assert load(tmp_path) == {("n1", "ib.x"): second, ("n1", "bus.x"): second, ("n2", "ib.x"): FIRST}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    drop(tmp_path, "n1")
    drop(tmp_path, "n1")
    assert load(tmp_path) == {("n2", "ib.x"): FIRST}


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"boot_id": "b", "uptime_s": 1, "values": {"x": "y"}}}'])
def test_a_changed_file_names_itself_and_the_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "n1.json").write_text(text)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert str(tmp_path / "n1.json") in str(caught.value)
    assert "remove the file" in (caught.value.hint or "")
