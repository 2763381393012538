"""Prints the results of `sovctl size`: pools, machines and costs; derivations of one pool; comparison of two sites."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import yaml

from sovctl.compliance.verdict import Verdict
from sovctl.engine.sizing.explain.step import Step, both_units
from sovctl.engine.sizing.performance.capacity import Interval
from sovctl.engine.sizing.pool.autoscaler import FORMS, bounds_of
from sovctl.engine.sizing.pool.caveats import caveats
from sovctl.engine.sizing.pool.growth import MAX_YEARS, growth_of, last_sufficient_year
from sovctl.engine.sizing.pool.pool import PoolSizing
from sovctl.engine.sizing.site.costs import MonthlyCosts
from sovctl.engine.sizing.site.data_hall import GroupLayout
from sovctl.engine.sizing.site.scalable_units import UnitShare
from sovctl.engine.sizing.site.site_sizing import SiteSizing
from sovctl.support.errors import InputError

from .. import output

_WIDTH = 110


def show_site(site_sizing: SiteSizing) -> None:
    """Print each pool in four lines, the machines, and the costs if site.yaml contains prices."""
    sizings, costs = site_sizing.sizings, site_sizing.costs
    for sized in sizings:
        verdict = output.style(sized.verdict.value, output.VERDICT_STYLES[sized.verdict.value])
        output.line(
            f"{output.style(sized.case.pool.name, 'bold')}  {verdict}{'  ' + sized.reason if sized.reason else ''}"
        )
        for line in _lines(sized):
            output.line(f"  {line}")
    output.line()
    for line in (*machines(site_sizing), *(_money(costs) if costs else ())):
        output.line(line)
    sources = dict.fromkeys((each.provenance, each.provenance_words) for each in sizings if each.limit is not None)
    if sources:
        output.line("times: median (pessimistic edge) / limit; plans use the pessimistic edge")
        output.line(f"figures are {' or '.join(f'{word} ({why})' for word, why in sources)}")


def _lines(sized: PoolSizing) -> list[str]:
    pool, server = sized.case.pool, sized.server
    precision = f" {server.precision}" if server else ""
    gpus = f"{count(sized.gpus, 'GPU')} ({sized.case.gpu.id})"
    lines = [f"{sized.case.model.id}{precision}, {pool.spread} x {count(pool.replicas, 'replica')} = {gpus}"]
    if server is not None:
        cache = f"KV cache {both_units(server.kv_bytes())}" if server.kv_cache.is_kept else "no KV cache"
        lines.append(
            f"each GPU: weights {both_units(server.memory().weights_bytes)}, {cache}; "
            f"{server.max_concurrency(pool.max_model_len):,.1f} sequences of {pool.max_model_len:,} tokens per replica"
        )
    elif sized.weights is not None:
        held = f"{both_units(sized.weights.total_bytes())} of weights per replica"
        lines.append(f"{held}; its KV cache layout is not in the catalogue")
    if sized.limit is not None and sized.case.demand is not None and server is not None:
        point, demand = sized.point or sized.limit.point, sized.case.demand
        when = f"with {count(pool.replicas, 'replica')}" if sized.point else "at its limit"
        times = f"TTFT {_time(point.ttft, demand.ttft_s)}"
        if server.is_generative:
            times += f", ITL {_time(point.itl, demand.itl_s)}, {point.tokens_per_s.middle:,.0f} tokens/s"
        lines.append(f"{when}, {point.in_flight:,.1f} in flight each: {times}")
    if sized.limit is not None and sized.need is not None:
        wanted = sized.need.with_reserve if sized.need.with_reserve is not None else "more nodes"
        lines.append(
            f"peak {sized.need.in_flight:,.1f} in flight, limit {sized.limit.point.in_flight:,.1f} per replica "
            f"({sized.limit.binding}): needs {count(sized.need.replicas, 'replica')}, with reserve {wanted}; "
            f"headroom {(sized.headroom or 0) * 100:+,.0f} %"
        )
        if years := growth_of(sized):
            last = last_sufficient_year(years, has=pool.replicas)
            enough = "not enough today" if last is None else f"enough {_until(last)}"
            lines.append(
                f"growth {sized.case.reserve.growth_percent_per_year:g} % per year, {count(pool.replicas, 'replica')}: "
                f"{enough}, with reserve"
            )
    lines += [f"! {each}" for each in caveats(sized)]
    if sized.verdict is Verdict.UNKNOWN and sized.case.model.notes:
        lines.append(f"note of the catalogue: {sized.case.model.notes}")
    return lines


def _until(year: int) -> str:
    return f"for at least {MAX_YEARS} years" if year >= MAX_YEARS else "this year" if not year else f"until year {year}"


def count(number: int, word: str) -> str:
    """Return a number with its noun: `1 replica`, `2 replicas`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _time(value: Interval, limit_s: float | None) -> str:
    limit = f" / {limit_s * 1e3:,.0f}" if limit_s is not None else ""
    return f"{_ms(value.middle)} ({_ms(value.high)}){limit} ms"


def _ms(value_s: float) -> str:
    return f"{value_s * 1e3:,.1f}" if value_s < 0.1 else f"{value_s * 1e3:,.0f}"


def machines(site_sizing: SiteSizing) -> list[str]:
    """Return the lines of each node group: nodes and GPUs available, used and needed; racks and switches."""
    layout = site_sizing.layout
    lines = []
    for group, laid in zip(site_sizing.spec.node_groups, layout.groups, strict=True):
        on_it = [sized for sized in site_sizing.sizings if sized.case.pool.node_group == group.name]
        if not on_it:
            if laid.racks is not None:
                lines.append(f"{group.name}: {_space(laid)}")
            continue
        there = len(group.nodes) * on_it[0].case.platform.gpus
        taken = sum(sized.gpus for sized in on_it)
        needed = laid.gpus_needed
        short = f"; {needed - there} GPUs are missing" if needed > there else ""
        lines.append(
            f"{group.name}: {count(len(group.nodes), 'node')} {group.platform}, {there} GPUs, {taken} used, "
            f"{needed} needed with reserve{short}"
        )
        lines.append(f"  {_space(laid)}; weights on disk {both_units(laid.store_bytes)}")
        lines += [f"  {_units(share)}" for share in laid.units]
    lines += [f"! {problem}" for problem in layout.problems]
    if layout.racks is not None and layout.kw is not None:
        lines.append(f"{count(layout.racks, 'rack')}, {layout.kw:,.1f} kW maximum for connection and cooling")
    if site_sizing.power is not None:
        power = site_sizing.power
        lines.append(f"power: {_kw(power.busy)} in busy hours, {_kw(power.idle)} without requests")
    return lines


def _kw(value: Interval) -> str:
    return f"{value.middle:,.1f} kW (band {value.low:,.1f} to {value.high:,.1f})"


def _space(laid: GroupLayout) -> str:
    """Return the nodes needed, and racks and switches if known."""
    words = f"needs {count(laid.nodes, 'node')}"
    if laid.node_kw is not None:
        words += f" of {laid.node_kw:g} kW"
    if laid.racks is not None and laid.nodes_per_rack is not None:
        words += f", {laid.nodes_per_rack} per rack: {count(laid.racks, 'rack')}"
    if laid.switches is not None and laid.switches.leaves:
        words += (
            f"; {laid.switches.rails} rails on {laid.switches.leaves} leaf and {laid.switches.spines} spine switches"
            f"{f' and {laid.switches.cores} cores' if laid.switches.cores else ''}, "
            f"{count(laid.switches.cables, 'cable')}"
        )
    return words


def _units(share: UnitShare) -> str:
    """Return the SuperPOD units, and the nodes used of them."""
    if share.units == 1:
        words = f"{share.id}: {share.nodes} of the {share.unit_nodes} nodes of one scalable unit"
    else:
        words = (
            f"{share.id}: {share.units} scalable units of {share.unit_nodes} nodes, {share.spare_nodes} nodes unused"
        )
    if share.unit_mw is not None:
        words += f"; {share.units * share.unit_mw:g} MW including shared equipment"
    return words + (f" ({share.kind})" if share.kind != "vendor" else "")


def _money(costs: MonthlyCosts) -> list[str]:
    """Return the monthly costs, compared with rented GPUs and an API."""
    parts = ", ".join(f"{name} {amount:,.0f}" for name, amount in costs.parts_per_month)
    lines = [
        f"costs per month over {costs.years:g} years, {costs.currency}: {costs.own_per_month:,.0f} ({parts})",
        f"  {costs.bought:,.0f} bought at the start, {costs.own_in_all:,.0f} in total",
    ]
    if costs.energy is not None and costs.energy.high:
        energy = costs.energy
        lines.append(f"  energy follows the load: {energy.middle:,.0f} (band {energy.low:,.0f} to {energy.high:,.0f})")
    if costs.rent_per_month is not None:
        back = (
            "never cheaper" if costs.pays_back_months is None else f"cheaper after {costs.pays_back_months:,.0f} months"
        )
        if costs.pays_back_months is not None and costs.pays_back_months > 12 * costs.years:
            back += f", beyond the {costs.years:g} years"
        lines.append(f"  renting the same GPUs: {costs.rent_per_month:,.0f}; buying is {back}")
    if costs.api_per_month is not None and costs.break_even_requests is not None:
        tokens = (costs.break_even_tokens or 0.0) / 1e6
        lines.append(
            f"  an API, for {costs.volume.requests:,.0f} requests: {costs.api_per_month:,.0f}; as much as the own site "
            f"at {costs.break_even_requests:,.0f} requests, {tokens:,.0f} million tokens"
        )
    return [*lines, *(f"! {each}" for each in costs.unknown)]


def show_steps(sized: PoolSizing, steps: Sequence[Step]) -> None:
    """Print the derivation of one pool."""
    output.line(
        f"{output.style(sized.case.pool.name, 'bold')}: {sized.verdict}{', ' + sized.reason if sized.reason else ''}"
    )
    for number, step in enumerate(steps, 1):
        output.line(f"\n{number}. {output.style(step.title, 'bold')} = {step.result}")
        for text in (step.formula, *step.inputs):
            _wrapped(text, "   ")
        if step.instead:
            _wrapped(step.instead, "   ! ")


def _wrapped(text: str, indent: str) -> None:
    for line in textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=" " * (len(indent) + 2)):
        output.line(line)


def show_side_by_side(
    before: SiteSizing, after: SiteSizing, settings: Sequence[str], *, only: str | None = None
) -> None:
    """Print the values that differ between two sites, by pool and for the site.

    Args:
        only: name of one pool; None for all pools and the site.
    """
    output.line(f"what if {', '.join(settings)}")
    old, new = _compared(before, only), _compared(after, only)
    rows = [
        (name, what, old.get(name, {}).get(what, "-"), new.get(name, {}).get(what, "-"))
        for name in dict.fromkeys((*old, *new))
        for what in dict.fromkeys((*old.get(name, {}), *new.get(name, {})))
        if old.get(name, {}).get(what) != new.get(name, {}).get(what)
    ]
    if not rows:
        output.line("nothing changes")
        return
    output.table(("pool", "what", "now", "what if"), rows)


def _compared(site_sizing: SiteSizing, only: str | None) -> dict[str, dict[str, str]]:
    """Return the compared values by pool, and those of the site under `(site)`."""
    found = {
        sized.case.pool.name: _facts(sized) for sized in site_sizing.sizings if only in (None, sized.case.pool.name)
    }
    if only is None:
        whole = {f"nodes of {each.name}": str(each.nodes) for each in site_sizing.layout.groups}
        if site_sizing.layout.racks is not None:
            whole["racks"] = str(site_sizing.layout.racks)
        if site_sizing.layout.kw is not None:
            whole["kW maximum"] = f"{site_sizing.layout.kw:,.1f}"
        if site_sizing.power is not None:
            whole["kW in busy hours"] = _kw(site_sizing.power.busy)
        if site_sizing.costs is not None:
            whole[f"{site_sizing.costs.currency} per month"] = f"{site_sizing.costs.own_per_month:,.0f}"
        found["(site)"] = whole
    return found


def _facts(sized: PoolSizing) -> dict[str, str]:
    """Return the compared values of one pool, as text."""
    pool = sized.case.pool
    facts = {
        "verdict": sized.verdict.value,
        "reason": sized.reason or "-",
        "model": sized.case.model.id,
        "GPU": sized.case.gpu.id,
        "one replica": pool.spread,
        "replicas": str(pool.replicas),
        "GPUs": str(sized.gpus),
        "max_model_len": f"{pool.max_model_len:,}",
    }
    if sized.server is not None:
        facts["KV cache per GPU"] = both_units(sized.server.kv_bytes())
        facts["full sequences per replica"] = f"{sized.server.max_concurrency(pool.max_model_len):,.1f}"
    if sized.limit is not None:
        facts["in flight per replica"] = f"{sized.limit.point.in_flight:,.1f} ({sized.limit.binding})"
    if sized.need is not None:
        facts["in flight at the peak"] = f"{sized.need.in_flight:,.1f}"
        facts["replicas needed"] = f"{sized.need.replicas} ({sized.need.with_reserve or '-'} with reserve)"
        facts["headroom"] = f"{(sized.headroom or 0) * 100:+,.0f} %"
    if sized.point is not None:
        facts["TTFT (pessimistic)"] = f"{_ms(sized.point.ttft.middle)} ({_ms(sized.point.ttft.high)}) ms"
        facts["ITL (pessimistic)"] = f"{_ms(sized.point.itl.middle)} ({_ms(sized.point.itl.high)}) ms"
    return facts


def show_autoscaling(site_sizing: SiteSizing, form: str, site: Path) -> None:
    """Print the autoscaler settings of every sized pool, one YAML document each.

    Args:
        site: path of site.yaml, for messages.

    Raises:
        InputError: unknown form, or missing address of Prometheus.
    """
    if form not in FORMS:
        raise InputError(f"expected one of {', '.join(FORMS)}, got {form!r}", where="--autoscaling")
    sizing = site_sizing.spec.sizing
    if form != "ray" and sizing.autoscaling.prometheus_url is None:
        hint = "set the URL from which the autoscaler reads vLLM's metrics"
        where = f"{site}: sizing.autoscaling.prometheus_url"
        raise InputError("missing URL of Prometheus", where=where, hint=hint)
    for sized in site_sizing.sizings:
        bounds = bounds_of(sized, sizing)
        if bounds is None:
            output.line(f"# {sized.case.pool.name}: no bounds, {sized.reason or sized.verdict.value}")
            continue
        stays = f"; at least one replica: {bounds.min_replicas_reason}" if bounds.min_replicas_reason else ""
        output.line(f"# {bounds.pool}: a new replica answers after {bounds.lead_time_s:,.0f} s{stays}")
        output.line("---\n" + yaml.safe_dump(FORMS[form](bounds), sort_keys=False, width=200).rstrip())
