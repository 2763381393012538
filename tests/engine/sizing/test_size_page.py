"""The page of `sovctl size --html`: whole, loads nothing, and its plots are well-formed and true to their numbers."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.catalog import load_catalog
from sovctl.engine.sizing.report.html import render_page
from sovctl.engine.sizing.report.svg_plot import BarSegment, Line, Plot, band_plot, bar, nice_ticks
from sovctl.engine.sizing.site.site_sizing import size_site
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER, names


def page_of(preset: str) -> str:
    data = (FOLDER / f"{preset}.yaml").read_bytes()
    spec = parse(data, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog()).spec
    return render_page(size_site(spec, load_catalog()))


@pytest.mark.parametrize("preset", names())
def test_it_is_whole_and_loads_nothing(preset: str) -> None:
    page = page_of(preset)
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|@import|url\(|https?://", page)
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing)
    data = (FOLDER / f"{preset}.yaml").read_bytes()
    spec = parse(data, path=Path("site.yaml"), today=date(2026, 11, 21), catalog=load_catalog()).spec
    for pool in spec.pools:
        assert f'<section id="{pool.name}">' in page
    assert page == page_of(preset)


def test_a_sized_pool_has_memory_three_curves_and_money() -> None:
    page = page_of("bank-hybrid")
    for title in ("time to first token of assistant", "time between tokens of assistant", "output of one replica"):
        assert title in page
    assert "memory of one H100-80GB-SXM" in page
    assert "costs per month" in page
    # each beside its limit: the middle, the pessimistic edge, what site.yaml asks
    assert re.search(r'<td class="n">[\d,]+ \([\d,]+\) / 2,000</td>\s*<td class="n">[\d.]+ \([\d.]+\) / 60</td>', page)
    assert "break-even" in page


@given(st.floats(1e-6, 1e12))
def test_ticks_are_few_round_and_reach_the_top(most: float) -> None:
    ticks = nice_ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] >= most * (1 - 1e-6)
    assert 3 <= len(ticks) <= 8
    digits = f"{ticks[1]:e}".partition("e")[0].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "5")


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20), st.floats(1, 1e6))
def test_no_point_of_a_plot_lies_outside(values: list[float], limit: float) -> None:
    x = tuple(float(index + 1) for index in range(len(values)))
    line = Line("times", "main", x, tuple(values), tuple(value * 0.8 for value in values), tuple(v * 2 for v in values))
    drawing = ElementTree.fromstring(band_plot(Plot("times", "in flight", "ms"), [line], limit=limit))
    width, height = map(float, drawing.attrib["viewBox"].split()[2:])
    for shape in (*drawing.iter("polyline"), *drawing.iter("polygon")):
        for point in shape.attrib["points"].split():
            across, down = map(float, point.split(","))
            assert 0 <= across <= width
            assert 0 <= down <= height


@given(st.lists(st.floats(-5, 1e12), max_size=6))
def test_parts_of_a_bar_are_as_wide_as_they_are_large(sizes: list[float]) -> None:
    drawing = ElementTree.fromstring(bar("memory", [BarSegment("part", "free", size) for size in sizes]))
    kept = [size for size in sizes if size > 0]
    widths = [float(each.attrib["width"]) for each in drawing.iter("rect")]
    assert len(widths) == len(kept)
    for width, size in zip(widths, kept, strict=True):
        assert width == pytest.approx(size / sum(kept) * 1000, abs=0.06)


def test_words_from_site_yaml_stay_words() -> None:
    assert "<b>" not in bar("<b>", [BarSegment("<b>", "free", 1.0)])


def test_the_page_shows_power_under_load_and_the_nameplate() -> None:
    text = page_of("bank-hybrid")
    assert "kW, for the electrical connection and cooling" in text
    assert "in\nbusy hours" in text
    assert "band of the energy" in text
