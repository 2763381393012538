"""The plan file: what was saved comes back, and what was altered is refused."""

from __future__ import annotations

import contextlib
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from planned_nodes import empty
from strategies import context

from examples import examples
from sovctl.compliance.signing import SigningKey
from sovctl.engine.plan.build import changes
from sovctl.engine.plan.file import Plan, read, write
from sovctl.engine.plan.serving import Serving
from sovctl.engine.plan.support import Refusal
from sovctl.engine.plan.waves import waves
from sovctl.support.errors import ExitCode, InputError, PlanTampered

KEY = SigningKey.generate()


def plan() -> Plan:
    site = context("lab")
    made = changes(site, {node.name: empty(node.name) for _, node in site.spec.nodes()})
    return Plan(
        site="lab",
        created="2026-11-21T09:00:00Z",
        sovctl_version="0.1.0",
        spec_sha256="aa" * 32,
        inputs_sha256="bb" * 32,
        facts_sha256={"n1": "cc" * 32},
        simulated=True,
        changes=tuple(made),
        waves=tuple(waves(site, made, frozenset(Serving(site).nodes))),
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    write(plan(), path, KEY)
    return path


def test_a_plan_comes_back_as_it_was_saved_and_only_for_its_owner(saved: Path) -> None:
    assert read(saved, KEY.public) == plan()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_the_name_of_a_plan_follows_from_everything_in_it() -> None:
    made = plan()
    others = [
        replace(made, site="other"),
        replace(made, sovctl_version="9"),
        replace(made, simulated=False),
        replace(made, changes=made.changes[:-1]),
        replace(made, waves=made.waves[::-1]),
        replace(made, facts_sha256={}),
        replace(made, refusals=(Refusal("n1", "not here", "install another system"),)),
    ]
    assert len({each.sha256 for each in [made, *others]}) == len(others) + 1


def test_refusals_come_back_and_a_plan_that_is_a_device_is_refused(tmp_path: Path) -> None:
    refused = replace(plan(), refusals=(Refusal("n1", "not here", "install another system"),))
    write(refused, tmp_path / "plan.json", KEY)
    assert read(tmp_path / "plan.json", KEY.public) == refused
    (tmp_path / "device.json").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        read(tmp_path / "device.json", KEY.public)


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_byte_is_found_or_changes_nothing(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    altered = tmp_path / "altered.json"
    altered.write_bytes(content)
    with contextlib.suppress(PlanTampered):
        assert read(altered, KEY.public) == plan()  # white space, or another spelling of the same value


@pytest.mark.parametrize("length", [0, 1, 100, 1000])
def test_a_cut_plan_is_refused(saved: Path, tmp_path: Path, length: int) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(PlanTampered):
        read(cut, KEY.public)


def test_a_plan_signed_by_another_key_is_refused(saved: Path) -> None:
    with pytest.raises(PlanTampered, match="the plan was altered") as caught:
        read(saved, SigningKey.generate().public)
    assert caught.value.exit_code is ExitCode.STALE


NESTED = "[" * 900 + "]" * 900
NO_PLANS = ["[]", "{}", '{"plan": 1, "sha256": 2, "signature": []}', '"x"', "1e999", "[" * 100_000]


@pytest.mark.parametrize("content", [*NO_PLANS, f'{{"plan": {NESTED}, "sha256": 2, "signature": {{"keyid": "k"}}}}'])
def test_what_is_no_plan_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content)
    with pytest.raises(PlanTampered):
        read(path, KEY.public)


def test_a_plan_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no plan found"):
        read(tmp_path / "plan.json", KEY.public)
