"""Expectation and probe of the checks of a pool's running process."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ....facts.units import parse_units
from ....spec import Node
from ...model.check import Check, Judgement, Probe, failed, unknown
from ...model.check_context import CheckContext
from ...model.probe_sections import ProbeSections, script
from .._probe_commands import show_units
from ._replicas import Expected, replicas_on

REQUIRED_VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
FORBIDDEN_VARIABLES = frozenset(
    {
        "VLLM_SERVER_DEV_MODE",  # serves /sleep, /collective_rpc and /reset_* without the API key
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING",  # lets a client load weights
    }
)


class PoolProcessCheck(Check[Expected]):
    """Expectation and probe; a subclass judges one aspect."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica with a rank on the node."""
        return replicas_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print unit, flags file, command line, start time and relevant environment variables, without API keys."""
        unit, config = shlex.quote(expected.unit), shlex.quote(expected.config)
        pid = f'pid=$(systemctl show -p MainPID --value {unit}); [ "$pid" -gt 0 ] || exit 3'
        redact = r"sed -e '/^--api-key$/{n;s/.*/(secret)/}' -e 's/^--api-key=.*/--api-key=(secret)/'"
        names = "|".join(sorted({*REQUIRED_VARIABLES, *FORBIDDEN_VARIABLES}))
        return Probe(
            script(
                unit=show_units(expected.unit),
                config=f"sed -e 's/^\\( *api[-_]key *:\\).*/\\1 (secret)/' {config}",
                process=f"{pid}; tr '\\0' '\\n' < /proc/$pid/cmdline | {redact}",
                times=f"{pid}; age=$(ps -o etimes= -p $pid) || exit 3; echo started $(( $(date +%s) - age )); "
                f"echo written $(stat -c %Y {config})",
                environment=f"{pid}; echo variables $(tr '\\0' '\\n' < /proc/$pid/environ | wc -l); "
                f"tr '\\0' '\\n' < /proc/$pid/environ | grep -E '^({names})=' || true",
            )
        )


def unit_failure(sections: ProbeSections, unit: str) -> Judgement | None:
    """Return a failure if the unit does not run; None if it does."""
    (state,) = parse_units(sections.text("unit"))[:1]
    if state.active is None or state.main_pid is None:
        return unknown(f"the state of {unit}", "none")
    if not state.is_running or state.main_pid == 0:
        return failed(f"{unit} running", f"{state.load}, {state.active}, {state.sub}")
    return None
