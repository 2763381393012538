"""`sovctl size --html`: a self-contained page with plots of memory, latency and costs.

render_page(size_site(spec, catalog))
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from sovctl.support.html_templates import page_template

from .. import GIB
from ..explain.pool import explain
from ..explain.step import Step, both_units
from ..performance.capacity import Interval
from ..pool.caveats import caveats
from ..pool.pool import PoolSizing
from ..site.costs import MonthlyCosts
from ..site.site_sizing import SiteSizing
from .svg_plot import BarSegment, Line, Plot, band_plot, bar

_POINTS = 40  # points of a curve


@dataclass(frozen=True, slots=True)
class _Block:
    """Values of one pool for the template."""

    sized: PoolSizing
    memory: Markup | None
    memory_parts: tuple[tuple[str, str, str], ...]
    """(CSS class, name, bytes as text)."""
    curves: tuple[tuple[str, Markup], ...]
    """(title, plot)."""
    steps: tuple[Step, ...]
    caveats: tuple[str, ...]
    ttft: str = ""
    """Median, pessimistic edge in brackets, limit."""
    itl: str = ""


def render_page(outcome: SiteSizing) -> str:
    """Return the page. Deterministic: the same site gives the same page."""
    costs = outcome.costs
    return page_template("size", "size.html.j2").render(
        site=outcome.spec.site,
        blocks=[_block(sized) for sized in outcome.sizings],
        layout=outcome.layout,
        power=outcome.power,
        costs=costs,
        cost_plot=None if costs is None else _cost_plot(costs),
        both_units=both_units,
    )


def _block(sized: PoolSizing) -> _Block:
    memory: Markup | None = None
    named: tuple[tuple[str, str, str], ...] = ()
    if sized.server is not None:
        rank = sized.server.memory()
        sizes = (
            ("weights", "weights", rank.weights_bytes),
            ("overhead", "vLLM overhead", rank.overhead_bytes),
            *([("adapters", "LoRA adapters", rank.adapters_bytes)] if rank.adapters_bytes else []),
            ("cache", "KV cache", sized.server.kv_bytes()),
            ("free", "kept free", rank.usable_bytes - rank.budget_bytes),
        )
        parts = [BarSegment(f"{name} {size / GIB:.0f} GiB", css, size) for css, name, size in sizes]
        memory = Markup(bar(f"memory of one {sized.case.gpu.id}", parts))  # noqa: S704 - generated SVG with escaped texts
        named = tuple((css, name, both_units(size)) for css, name, size in sizes)
    point, demand = sized.point or (sized.limit.point if sized.limit else None), sized.case.demand
    ttft = itl = ""
    if point is not None and demand is not None:
        ttft = _against(point.ttft, demand.ttft_s)
        itl = _against(point.itl, demand.itl_s) if sized.performance and sized.performance.is_generative else "-"
    return _Block(sized, memory, named, tuple(_curves(sized)), tuple(explain(sized)), tuple(caveats(sized)), ttft, itl)


def _against(value: Interval, limit_s: float | None) -> str:
    """Return a time and its limit in milliseconds, as text."""
    places = 1 if value.middle < 0.1 else 0
    limit = "" if limit_s is None else f" / {limit_s * 1e3:,.0f}"
    return f"{value.middle * 1e3:,.{places}f} ({value.high * 1e3:,.{places}f}){limit}"


def _curves(sized: PoolSizing) -> list[tuple[str, Markup]]:
    """Return plots of the times of one replica over its requests in flight, with band and limit."""
    performance, demand, limit = sized.performance, sized.case.demand, sized.limit
    if performance is None or demand is None or limit is None:
        return []
    most = max(2.0, min(performance.max_in_flight, 1.6 * limit.point.in_flight))
    x = tuple(1 + (most - 1) * index / (_POINTS - 1) for index in range(_POINTS))
    points = [performance.at(each, demand) for each in x]
    marks = [(limit.point.in_flight, f"limit ({limit.binding})")] if limit.is_held else []
    if sized.point is not None:
        marks.insert(0, (sized.point.in_flight, "at the peak"))
    wanted = [
        ("time to first token", "ms", 1e3, demand.ttft_s, [point.ttft for point in points]),
        ("time between tokens", "ms", 1e3, demand.itl_s, [point.itl for point in points]),
        ("output of one replica", "tokens/s", 1.0, None, [point.tokens_per_s for point in points]),
    ]
    if not performance.is_generative:
        wanted = wanted[:1]
    found = []
    for title, unit, scale, limit_s, values in wanted:
        line = Line(
            title,
            "main",
            x,
            tuple(value.middle * scale for value in values),
            tuple(value.low * scale for value in values),
            tuple(value.high * scale for value in values),
        )
        plot = Plot(f"{title} of {sized.case.pool.name}", "requests in flight, one replica", unit)
        drawn = band_plot(plot, [line], limit=None if limit_s is None else limit_s * scale, marks=marks)
        found.append((title, Markup(drawn)))  # noqa: S704 - generated SVG with escaped texts
    return found


def _cost_plot(costs: MonthlyCosts) -> Markup:
    """Return the plot of monthly costs over requests per month."""
    volume = max(costs.volume.requests, 1.0)
    most = max(volume * 2, min(costs.break_even_requests or 0.0, volume * 20) * 1.25)
    x = (0.0, most)
    lines = [Line("own site", "own", x, (costs.own_per_month, costs.own_per_month))]
    if costs.rent_per_month is not None:
        lines.append(Line("rented GPUs", "rent", x, (costs.rent_per_month, costs.rent_per_month)))
    marks = [(costs.volume.requests, "workload")]
    if costs.api_per_month is not None:
        lines.append(Line("API", "api", x, (0.0, costs.api_per_month / volume * most)))
        if costs.break_even_requests is not None and costs.break_even_requests <= most:
            marks.append((costs.break_even_requests, "break-even"))
    drawn = band_plot(Plot("costs per month", "requests per month", costs.currency), lines, marks=marks)
    return Markup(drawn)  # noqa: S704 - generated SVG with escaped texts
