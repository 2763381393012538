"""One node that is not observed completely is unknown, and the others are planned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_sites import example
from strategies import EXAMPLES

from sovctl.engine.gather import captures, gather
from sovctl.engine.site.site import Site
from sovctl.support.errors import SovctlError


@pytest.fixture
def observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    """Return a function that opens the site; the named nodes have no result of one command."""
    site = example("bank-hybrid", tmp_path / "site")

    def opened(*, incomplete: tuple[str, ...]) -> Site:
        names = [node.name for _, node in site.spec.nodes()]
        found = captures.load(EXAMPLES / "bank-hybrid" / "facts", names)
        for name in incomplete:
            commands: dict[str, Any] = found[name]["commands"]
            commands["holds"] = {"exit_code": None, "stdout": "", "stderr": "no result after 60 s"}
        monkeypatch.setattr(gather, "gather", lambda *_, **__: gather.Gathered(found, {}))
        return site

    return opened


def test_a_node_without_all_measurements_is_unknown_and_the_others_are_observed(observed: Callable[..., Site]) -> None:
    site = observed(incomplete=("gw-1",))
    facts, unknown = site.observe_reachable(site.context(), report=lambda _: None)
    assert set(unknown) == {"gw-1"}
    assert "probe command 'holds' failed: no result after 60 s" in unknown["gw-1"]
    assert {"gw-2", "dgx-1"} <= set(facts)
    assert "gw-1" not in facts


def test_without_one_complete_observation_there_is_no_plan(observed: Callable[..., Site]) -> None:
    site = observed(incomplete=("dgx-1", "dgx-2", "l40s-1", "l40s-2", "gw-1", "gw-2"))
    with pytest.raises(SovctlError, match="a plan requires all measurements"):
        site.observe_reachable(site.context(), report=lambda _: None)
