"""Minutes of a wave follow from bytes and rates, and the mirror is shared by the nodes of a wave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from strategies import context

from sovctl.engine.plan.durations import MIRROR_GB_S, Duration, Durations
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.resource import Change, Risk, Verb


def create(kind: str, name: str, minutes: float = 0.2) -> Change:
    return Change("dgx-09", kind, name, Verb.CREATE, None, {"x": 1}, "why", Risk.NONE, minutes)


def with_rates(*, mirror_gb_s: float | None) -> Context:
    site = context("superpod-b200")
    rollout = site.spec.rollout.model_copy(update={"mirror_gb_s": mirror_gb_s})
    spec = site.spec.model_copy(update={"rollout": rollout})
    return replace(site, spec=spec)


def test_weights_are_downloaded_at_the_measured_rate_of_the_mirror() -> None:
    site = Durations(with_rates(mirror_gb_s=2.0))
    found = site.of([create("model", "deepseek-r1"), create("clock", "chrony", 0.1)])
    assert found.minutes == 0.1
    assert found.download_gb == pytest.approx(689, rel=0.03)  # files of the release on Hugging Face: 688.6 GB
    one, four = (site.wave_minutes([found] * count) for count in (1, 4))
    assert one == pytest.approx(0.1 + found.download_gb / 2.0 / 60)
    assert four == pytest.approx(0.1 + 4 * found.download_gb / 2.0 / 60)


def test_without_a_measurement_the_estimate_of_the_mirror_is_used() -> None:
    site = Durations(with_rates(mirror_gb_s=None))
    assert site.wave_minutes([Duration(1.0, 66.0)]) == pytest.approx(1.0 + 66.0 / MIRROR_GB_S / 60)


def test_a_removal_downloads_nothing() -> None:
    site = Durations(with_rates(mirror_gb_s=None))
    removal = Change("dgx-09", "model", "deepseek-r1", Verb.DELETE, {"x": 1}, None, "why", Risk.WORKLOAD, 0.2)
    assert site.of([removal]) == Duration(0.2, 0.0)


def test_a_lab_keeps_the_estimates_of_its_resource_types() -> None:
    site = Durations(context("lab"))
    assert site.of([create("pool", "chat", 1.5), create("model", "echo", 0.2)]) == Duration(1.7, 0.0)
