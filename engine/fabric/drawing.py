"""Drawing of a fabric as SVG: spines above, leaves below, coloured by rail.

Pairs of switches with few cables are red; pairs with a slow cable are orange and dashed. The styles apply only within
the drawing, because the report contains it as part of its page.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from .findings import common_rate, slow_links
from .rails import rails_of
from .topology import Fabric

_BOX, _GAP, _HEIGHT, _MARGIN, _BETWEEN = 132, 12, 34, 24, 240
_RAILS = ("#2f6f9f", "#b5651d", "#3d7a3d", "#7a3d7a", "#8a6d1f", "#1f7a7a", "#a03c50", "#4b4b9b")
_RULES = {
    "text": "font:11px sans-serif;fill:#222;text-anchor:middle",
    ".light": "fill:#fff",
    ".small": "font-size:10px",
    ".link": "stroke:#8a8f98;stroke-opacity:.45",
    ".few": "stroke:#c62828;stroke-opacity:.9",
    ".slow": "stroke:#d9730d;stroke-opacity:.9;stroke-dasharray:6 4",
}
_STYLE = "".join(f".fabric {selector}{{{rules}}}" for selector, rules in _RULES.items())


def draw(fabric: Fabric, *, is_simulated: bool = False) -> str:
    """Return an SVG document. Its size grows with the number of leaves; it contains no script and no reference.

    Args:
        is_simulated: whether the title marks the fabric as simulated.
    """
    leaves = sorted(fabric.leaves, key=lambda each: fabric.name(each.guid))
    spines = sorted(fabric.spines, key=lambda each: fabric.name(each.guid))
    columns = max(len(leaves), len(spines), 4)
    width = 2 * _MARGIN + columns * (_BOX + _GAP) - _GAP
    height = 2 * _MARGIN + 40 + 2 * _HEIGHT + _BETWEEN + 40
    top = _MARGIN + 40
    place = {each.guid: (_x(index, len(spines), width), top) for index, each in enumerate(spines)}
    place |= {each.guid: (_x(index, len(leaves), width), top + _HEIGHT + _BETWEEN) for index, each in enumerate(leaves)}
    title = f"{len(fabric.switches)} switches, {len(fabric.adapters)} adapters, {len(fabric.links)} links"
    name = "InfiniBand fabric (simulated)" if is_simulated else "InfiniBand fabric"
    return "\n".join(
        [
            f'<svg class="fabric" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            f"<title>{name}: {title}</title><style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="{width // 2}" y="{_MARGIN + 8}" style="font-size:15px">{name}: {title}</text>',
            *_links(fabric, place),
            *_boxes(fabric, place),
            "</svg>",
            "",
        ]
    )


def _x(index: int, count: int, width: int) -> int:
    """Return the left edge of a box, so that a row is centred."""
    row = count * (_BOX + _GAP) - _GAP
    return (width - row) // 2 + index * (_BOX + _GAP)


def _links(fabric: Fabric, place: dict[str, tuple[int, int]]) -> list[str]:
    pairs = Counter(
        (link.one.guid, link.other.guid) for link in fabric.links if link.one.guid in place and link.other.guid in place
    )
    usual = Counter(pairs.values()).most_common(1)[0][0] if pairs else 0
    rate = common_rate(fabric) if fabric.links else 0
    slow = {(link.one.guid, link.other.guid) for link in slow_links(fabric, at_least_gbit_s=rate)}
    lines = []
    for (one, other), count in sorted(pairs.items(), key=lambda item: -item[1]):
        (x1, y1), (x2, y2) = place[one], place[other]
        kind = "link few" if count < usual else "link slow" if (one, other) in slow else "link"
        label = f"{fabric.name(one)} - {fabric.name(other)}: {count}"
        lines.append(
            f'<line class="{kind}" x1="{x1 + _BOX // 2}" y1="{y1 + _HEIGHT // 2}" x2="{x2 + _BOX // 2}" '
            f'y2="{y2 + _HEIGHT // 2}" stroke-width="{min(count, 8) * 0.8:.1f}"><title>{escape(label)}</title></line>'
        )
    return lines


def _boxes(fabric: Fabric, place: dict[str, tuple[int, int]]) -> list[str]:
    rails: dict[str, str] = {}
    for (guid, scheme), index in rails_of(fabric).by_leaf.items():
        rails.setdefault(guid, f"{scheme}{index}")
    colours = {rail: _RAILS[number % len(_RAILS)] for number, rail in enumerate(sorted(set(rails.values())))}
    lines = []
    for guid, (x, y) in place.items():
        fill = colours.get(rails.get(guid, ""), "#555b66")
        adapters = sum(1 for _ in fabric.adapter_links(guid))
        lines.append(f'<rect x="{x}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="4" fill="{fill}"/>')
        middle, name = x + _BOX // 2, escape(_short(fabric.name(guid)))
        lines.append(f'<text class="light" x="{middle}" y="{y + _HEIGHT // 2 + 4}">{name}</text>')
        if adapters:
            text = f"{rails.get(guid, 'no rail')} · {adapters} adapters"
            lines.append(f'<text class="small" x="{middle}" y="{y + _HEIGHT + 16}">{escape(text)}</text>')
    return lines


def _short(name: str) -> str:
    return name if len(name) <= 21 else f"…{name[-20:]}"
