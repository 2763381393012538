"""Records of baselines: stored by node, and a file changed by hand is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sovctl.engine.resources.context import Baseline
from sovctl.engine.site.baseline_records import drop, load, save
from sovctl.support.errors import InputError

ONE = Baseline("a" * 64)
OTHER = Baseline("b" * 64, frozenset({("address", "192.0.2.7/32")}))


def test_records_are_added_replaced_and_dropped(tmp_path: Path) -> None:
    assert load(tmp_path) == {}
    save(tmp_path, {"n1": ONE})
    save(tmp_path, {"n2": OTHER})
    assert load(tmp_path) == {"n1": ONE, "n2": OTHER}
    drop(tmp_path, "n1")
    drop(tmp_path, "n3")
    assert load(tmp_path) == {"n2": OTHER}


@pytest.mark.parametrize("text", ["", "[]", '{"n1": 1}', '{"n1": {"sha256": 1, "differing": null}}', '{"n1": {}}'])
def test_a_file_changed_by_hand_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "baselines.json").write_text(text)
    with pytest.raises(InputError, match="baselines"):
        load(tmp_path)
