"""What `sovctl size` shows: a block of lines for each pool, the machines they need, one pool step by step, two sites
side by side."""

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
from sovctl.engine.sizing.pool.growth import MAX_YEARS, growth_of, lasts
from sovctl.engine.sizing.pool.pool import PoolSizing
from sovctl.engine.sizing.site.costs import MonthlyCosts
from sovctl.engine.sizing.site.data_hall import GroupLayout
from sovctl.engine.sizing.site.scalable_units import UnitShare
from sovctl.engine.sizing.site.site_sizing import SiteSizing
from sovctl.support.errors import InputError

from .. import output

_WIDTH = 110


def show_site(outcome: SiteSizing) -> None:
    """One screen: each pool in four lines, then the machines, and the money where there are prices."""
    sizings, costs = outcome.sizings, outcome.costs
    for sized in sizings:
        verdict = output.style(sized.verdict.value, output.VERDICT_STYLES[sized.verdict.value])
        output.line(
            f"{output.style(sized.case.pool.name, 'bold')}  {verdict}{'  ' + sized.reason if sized.reason else ''}"
        )
        for line in _lines(sized):
            output.line(f"  {line}")
    output.line()
    for line in (*machines(outcome), *(_money(costs) if costs else ())):
        output.line(line)
    stands = dict.fromkeys((each.provenance, each.provenance_words) for each in sizings if each.limit is not None)
    if stands:
        output.line("times: middle (pessimistic edge) / limit; plans are made at the pessimistic edge")
        output.line(f"figures are {' or '.join(f'{word} ({why})' for word, why in stands)}")


def _lines(sized: PoolSizing) -> list[str]:
    pool, server = sized.case.pool, sized.server
    precision = f" {server.precision}" if server else ""
    gpus = f"{count(sized.gpus, 'GPU')} ({sized.case.gpu.id})"
    lines = [f"{sized.case.model.id}{precision}, {pool.spread} x {count(pool.replicas, 'replica')} = {gpus}"]
    if server is not None:
        cache = f"KV cache {both_units(server.kv_bytes())}" if server.kv_cache.is_kept else "no KV cache"
        lines.append(
            f"each GPU: weights {both_units(server.memory().weights_bytes)}, {cache}; "
            f"{server.sessions(pool.max_model_len):,.1f} sessions of {pool.max_model_len:,} tokens a replica"
        )
    elif sized.weights is not None:
        held = f"{both_units(sized.weights.total_bytes())} of weights a replica"
        lines.append(f"{held}; how its cache is laid out is not in the catalogue")
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
            f"filled to the limit, {sized.limit.point.in_flight:,.1f} each of {sized.need.in_flight:,.1f} in flight "
            f"({sized.limit.binding} binds): needs {sized.need.replicas}, with reserve {wanted}; "
            f"headroom {(sized.headroom or 0) * 100:+,.0f} %"
        )
        if years := growth_of(sized):
            last = lasts(years, has=pool.replicas)
            enough = "not enough today" if last is None else f"enough {_until(last)}"
            lines.append(
                f"at {sized.case.reserve.growth_percent_per_year:g} % more a year, {count(pool.replicas, 'replica')}: "
                f"{enough}, reserve counted"
            )
    lines += [f"! {each}" for each in caveats(sized)]
    if sized.verdict is Verdict.UNKNOWN and sized.case.model.notes:
        lines.append(f"the catalogue knows: {sized.case.model.notes}")
    return lines


def _until(year: int) -> str:
    return f"for {MAX_YEARS} years and more" if year >= MAX_YEARS else "this year" if not year else f"to year {year}"


def count(number: int, word: str) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _time(value: Interval, limit_s: float | None) -> str:
    limit = f" / {limit_s * 1e3:,.0f}" if limit_s is not None else ""
    return f"{_ms(value.middle)} ({_ms(value.high)}){limit} ms"


def _ms(value_s: float) -> str:
    return f"{value_s * 1e3:,.1f}" if value_s < 0.1 else f"{value_s * 1e3:,.0f}"


def machines(outcome: SiteSizing) -> list[str]:
    """What each node group has, what pools take of it or would need, and the racks and switches for that."""
    layout = outcome.layout
    lines = []
    for group, laid in zip(outcome.spec.node_groups, layout.groups, strict=True):
        on_it = [sized for sized in outcome.sizings if sized.case.pool.node_group == group.name]
        if not on_it:
            if laid.racks is not None:
                lines.append(f"{group.name}: {_hall(laid)}")
            continue
        there = len(group.nodes) * on_it[0].case.platform.gpus
        taken = sum(sized.gpus for sized in on_it)
        needed = laid.gpus_needed
        short = f"; {needed - there} GPUs are missing" if needed > there else ""
        lines.append(
            f"{group.name}: {count(len(group.nodes), 'node')} {group.platform}, {there} GPUs, {taken} taken, "
            f"{needed} needed with reserve{short}"
        )
        lines.append(f"  {_hall(laid)}; weights on disk {both_units(laid.store_bytes)}")
        lines += [f"  {_units(share)}" for share in laid.units]
    lines += [f"! {problem}" for problem in layout.problems]
    if layout.racks is not None and layout.kw is not None:
        lines.append(f"{count(layout.racks, 'rack')}, {layout.kw:,.1f} kW at most")
    return lines


def _hall(laid: GroupLayout) -> str:
    """Nodes needed, with racks and switches as far as they are known."""
    words = f"needs {count(laid.nodes, 'node')}"
    if laid.node_kw is not None:
        words += f" of {laid.node_kw:g} kW"
    if laid.racks is not None and laid.nodes_per_rack is not None:
        words += f", {laid.nodes_per_rack} a rack: {count(laid.racks, 'rack')}"
    if laid.switches is not None and laid.switches.leaves:
        words += (
            f"; {laid.switches.rails} rails on {laid.switches.leaves} leaf and {laid.switches.spines} spine switches"
            f"{f' and {laid.switches.cores} cores' if laid.switches.cores else ''}, "
            f"{count(laid.switches.cables, 'cable')}"
        )
    return words


def _units(share: UnitShare) -> str:
    """Whole SuperPOD units, and what of them is used."""
    if share.units == 1:
        words = f"{share.id}: {share.nodes} of the {share.unit_nodes} nodes of one scalable unit"
    else:
        words = f"{share.id}: {share.units} scalable units of {share.unit_nodes} nodes, {share.spare_nodes} to spare"
    if share.unit_mw is not None:
        words += f"; {share.units * share.unit_mw:g} MW with what the nodes share"
    return words + (f" ({share.kind})" if share.kind != "vendor" else "")


def _money(costs: MonthlyCosts) -> list[str]:
    """What it costs a month, and beside what."""
    parts = ", ".join(f"{name} {amount:,.0f}" for name, amount in costs.parts_per_month)
    lines = [
        f"costs a month over {costs.years:g} years, {costs.currency}: {costs.own_per_month:,.0f} ({parts})",
        f"  {costs.bought:,.0f} bought at the start, {costs.own_in_all:,.0f} in all",
    ]
    if costs.rent_per_month is not None:
        back = "never" if costs.pays_back_months is None else f"after {costs.pays_back_months:,.0f} months"
        if costs.pays_back_months is not None and costs.pays_back_months > 12 * costs.years:
            back += f", past the {costs.years:g} years"
        lines.append(f"  renting the same GPUs: {costs.rent_per_month:,.0f}; buying has cost less {back}")
    if costs.api_per_month is not None and costs.break_even_requests is not None:
        tokens = (costs.break_even_tokens or 0.0) / 1e6
        lines.append(
            f"  an API, for {costs.volume.requests:,.0f} requests: {costs.api_per_month:,.0f}; as much as the own site "
            f"at {costs.break_even_requests:,.0f} requests, {tokens:,.0f} million tokens"
        )
    return [*lines, *(f"! {each}" for each in costs.unknown)]


def show_steps(sized: PoolSizing, steps: Sequence[Step]) -> None:
    """One pool, step by step."""
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


def show_side_by_side(now: SiteSizing, then: SiteSizing, settings: Sequence[str], *, only: str | None = None) -> None:
    """What changes, pool by pool and for the whole site; what stays the same is left out.

    Args:
        only: this pool alone.
    """
    output.line(f"what if {', '.join(settings)}")
    before, after = _compared(now, only), _compared(then, only)
    rows = [
        (name, what, before.get(name, {}).get(what, "-"), after.get(name, {}).get(what, "-"))
        for name in dict.fromkeys((*before, *after))
        for what in dict.fromkeys((*before.get(name, {}), *after.get(name, {})))
        if before.get(name, {}).get(what) != after.get(name, {}).get(what)
    ]
    if not rows:
        output.line("nothing changes")
        return
    output.table(("pool", "what", "now", "what if"), rows)


def _compared(outcome: SiteSizing, only: str | None) -> dict[str, dict[str, str]]:
    """By pool what is compared, and under the site's name what is of the whole."""
    found = {sized.case.pool.name: _facts(sized) for sized in outcome.sizings if only in (None, sized.case.pool.name)}
    if only is None:
        whole = {f"nodes of {each.name}": str(each.nodes) for each in outcome.layout.groups}
        if outcome.layout.racks is not None:
            whole["racks"] = str(outcome.layout.racks)
        if outcome.layout.kw is not None:
            whole["kW at most"] = f"{outcome.layout.kw:,.1f}"
        if outcome.costs is not None:
            whole[f"{outcome.costs.currency} a month"] = f"{outcome.costs.own_per_month:,.0f}"
        found["(site)"] = whole
    return found


def _facts(sized: PoolSizing) -> dict[str, str]:
    """What is compared, as texts."""
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
        facts["KV cache a GPU"] = both_units(sized.server.kv_bytes())
        facts["full sessions a replica"] = f"{sized.server.sessions(pool.max_model_len):,.1f}"
    if sized.limit is not None:
        facts["in flight a replica"] = f"{sized.limit.point.in_flight:,.1f} ({sized.limit.binding})"
    if sized.need is not None:
        facts["in flight at the peak"] = f"{sized.need.in_flight:,.1f}"
        facts["replicas needed"] = f"{sized.need.replicas} ({sized.need.with_reserve or '-'} with reserve)"
        facts["headroom"] = f"{(sized.headroom or 0) * 100:+,.0f} %"
    if sized.point is not None:
        facts["TTFT (pessimistic)"] = f"{_ms(sized.point.ttft.middle)} ({_ms(sized.point.ttft.high)}) ms"
        facts["ITL (pessimistic)"] = f"{_ms(sized.point.itl.middle)} ({_ms(sized.point.itl.high)}) ms"
    return facts


def show_autoscaling(outcome: SiteSizing, form: str, site: Path) -> None:
    """Bounds of every pool that was sized, one YAML document each.

    Args:
        site: where the outcome's site is described.

    Raises:
        InputError: a form that is not known, or no address of Prometheus where one is needed.
    """
    if form not in FORMS:
        raise InputError(f"expected one of {', '.join(FORMS)}, got {form!r}", where="--autoscaling")
    sizing = outcome.spec.sizing
    if form != "ray" and sizing.scaling.prometheus_url is None:
        hint = "write where the autoscaler reads vLLM's metrics"
        where = f"{site}: sizing.scaling.prometheus_url"
        raise InputError("expected an address, got nothing", where=where, hint=hint)
    for sized in outcome.sizings:
        bounds = bounds_of(sized, sizing)
        if bounds is None:
            output.line(f"# {sized.case.pool.name}: no bounds, {sized.reason or sized.verdict.value}")
            continue
        stays = f"; at least one stays: {bounds.why_not_zero}" if bounds.why_not_zero else ""
        output.line(f"# {bounds.pool}: a new replica answers after {bounds.lead_s:,.0f} s{stays}")
        output.line("---\n" + yaml.safe_dump(FORMS[form](bounds), sort_keys=False, width=200).rstrip())
