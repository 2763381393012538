"""A setting that is right at run time and wrong after a reboot is a change, with the file that overrides it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.plan.build import changes


@pytest.mark.parametrize(
    ("path", "text", "name", "found"),
    [
        ("/etc/sysctl.d/99-other.conf", "vm.zone_reclaim_mode = 0\n", "kernel", "vm.zone_reclaim_mode = 0"),
        ("/etc/sysctl.d/99-other.conf", "kernel.pid_max = 7\n", "", ""),
        ("/etc/sysctl.d/10-other.conf", "vm.zone_reclaim_mode = 0\n", "", ""),
        ("/etc/security/limits.d/99-other.conf", "* soft memlock 64\n", "limits", "* soft memlock 64"),
    ],
)
def test_a_later_file_that_overrides_ours_is_named(path: str, text: str, name: str, found: str) -> None:
    facts = planned("lab")[0]
    overridden = replace(facts["n1"], texts={**facts["n1"].texts, path: text})
    made = changes(context("lab"), {**facts, "n1": overridden})
    assert [each.id for each in made] == ([f"n1/tuning/{name}"] if name else [])
    assert [each.before for each in made] == ([{"overridden_at_boot": [f"{found} ({path})"]}] if name else [])
