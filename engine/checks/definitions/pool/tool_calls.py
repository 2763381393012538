"""pool.tool-calls: the pool calls tools with arguments by their schemas, in six modes of a request.

20 functions are offered with `tool_choice` auto, required, named and none, in parallel, and streamed. A wrong parser or
template gives answers without an error: the call stays in the text, or its arguments are cut.

- A model may answer with text in the modes auto, streaming and parallel. This is WARN, and in auto and streaming FAIL
  below the limit of the catalogue.
- The model of a lab repeats its input and cannot choose. Of it only the modes required, named and none are requested,
  in which the server decides, and only tools with bounded arguments, because it would not end a text.
- `sovctl apply` requires this of pools that name `tools.tool_call_parser` or `tools.enable_auto_tool_choice` in
  site.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from ....catalog.benchmarks import load_benchmarks
from ....facts.benchmarks.tool_calls import Fault, Mode, ToolFault, parse_tool_calls, tool_call_faults
from ....facts.benchmarks.tool_schemas import BOUNDED_CASES, CASES, ToolCase
from ....resources import pool as pool_resource
from ....resources.credential import TLS
from ....spec import Node, Pool
from ....spec.serving.api_server import NO_PARSER
from ...model.check import Check, Judgement, Level, Method, Severity, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import number_of
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import python_command
from ._replicas import Expected as Replica
from ._replicas import heads_on
from ._vllm_process import is_vllm

LAB_MODES = (Mode.REQUIRED, Mode.NAMED, Mode.NONE)
_CHOSEN = (Mode.AUTO, Mode.STREAMING, Mode.PARALLEL)
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Expected(Replica):
    """A replica with a parser of tool calls.

    Args:
        cases: tools that are requested, with their tasks.
        modes: that are requested.
        any_tool: whether a required call may name any offered tool.
        is_declared: whether site.yaml declares tool calls; the parser is otherwise that of the catalogue.
        least_called: fraction of tasks; None if unknown.
    """

    model: str
    cases: tuple[ToolCase, ...]
    modes: tuple[Mode, ...]
    any_tool: bool
    is_declared: bool
    least_called: float | None


class ToolCalls(Check[Expected]):
    id, version, method = "pool.tool-calls", 1, Method.TEST
    title = "the pool calls tools with arguments by their schemas"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = (
        "compare `tools.tool_call_parser` and the chat template with the documentation of the model; "
        "`tools.tool_strict_level: parameter` constrains arguments to their schemas"
    )
    level = Level.BURN_IN

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every vLLM replica with a parser of tool calls whose first rank is on the node."""
        context = site.context
        pools = {pool_resource.instance(each): each.pool for each in context.replicas}
        least = number_of(load_benchmarks().tool_calls.least_called)
        for replica in heads_on(site, node):
            pool = context.pool(pools[replica.subject])
            if not is_vllm(replica) or "tool-call-parser" not in replica.flags:
                continue
            is_lab = context.models[context.model(pool.model).catalog].lab_only
            yield Expected(
                **vars(replica),
                model=pool.model,
                cases=BOUNDED_CASES if is_lab else CASES,
                modes=LAB_MODES if is_lab else tuple(Mode),
                any_tool=is_lab,
                is_declared=declares_tools(pool),
                least_called=least,
            )

    def probe(self, expected: Expected) -> Probe:
        """Request all calls."""
        identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
        served = str(expected.flags.get("served-model-name", expected.model))
        cases = json.dumps([asdict(each) for each in expected.cases])
        words = (expected.address, str(expected.port), *identity, served, cases, ",".join(expected.modes))
        return Probe({"calls": python_command("tool_calls", *words)}, timeout_s=600)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Compare the calls with the schemas."""
        tools = tuple(each.name for each in expected.cases)
        answers = parse_tool_calls(parse_sections(output).text("calls"), modes=expected.modes, tools=tools)
        if expected.least_called is None:
            return unknown("a limit of tool calls", "none in the catalogue")
        faults = tool_call_faults(answers, tools=tools, any_tool=expected.any_tool)
        found = [_judged(each, expected.least_called, tasks=len(tools)) for each in faults]
        count = f"{len(tools)} tools in the modes {', '.join(expected.modes)}"
        return worst(found, otherwise=f"expected calls by their schemas of {count}, got all of them")


def declares_tools(pool: Pool) -> bool:
    """Return whether site.yaml declares tool calls of a pool."""
    parser = pool.tools.tool_call_parser
    return parser not in (None, NO_PARSER) or bool(pool.tools.enable_auto_tool_choice)


def _judged(each: ToolFault, least: float, *, tasks: int) -> Judgement:
    wanted = "no call" if each.mode is Mode.NONE else "a call by its schema"
    wanted = f"{wanted} in mode {each.mode}"
    got = f"{each.fault} in {len(each.tools)} of {tasks} tasks: {_names(each.tools)}"
    if each.fault is not Fault.MISSING or each.mode not in _CHOSEN:
        return failed(wanted, got)
    is_below = each.mode is not Mode.PARALLEL and 1 - len(each.tools) / tasks < least
    return (failed if is_below else warned)(f"{wanted}, in at least {least:.0%} of the tasks", got)


def _names(tools: Sequence[str]) -> str:
    more = f" and {len(tools) - _SHOWN} more" if len(tools) > _SHOWN else ""
    return ", ".join(tools[:_SHOWN]) + more
