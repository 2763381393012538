"""access.sshd-for-every-network: sshd applies the planned settings to every account from every network of site.yaml."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.sshd import parse_logins
from ....resources.host.sshd import logins, settings
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_OUTSIDE = "192.0.2.1"  # RFC 5737: an address of no network of the site
_MAY_BE_ABSENT = frozenset({"gssapiauthentication"})  # builds without GSSAPI support do not print it


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Values of `sshd -T`.

    Args:
        logins: "user address" of each login; `Match` blocks can differ between them.
        values: by key, in lower case.
    """

    logins: tuple[str, ...]
    values: Mapping[str, str]


class SshdForEveryNetwork(Check[Expected]):
    id, version, method = "access.sshd-for-every-network", 1, Method.EXAMINE
    title = "sshd has the planned settings for every account and network"
    controls = ("ac-17", "ac-17.1", "cm-6")
    severity = Severity.CRITICAL
    remedy = (
        "remove `Match` blocks of other files in `/etc/ssh/sshd_config.d`, then run `sovctl plan` and `sovctl apply`"
    )

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node, also for an address outside all networks."""
        users = (site.context.spec.access.user, "root")
        found = [*site.context.once(logins), *(f"{user} {_OUTSIDE}" for user in users)]
        values = {key.lower(): value for key, value in settings(site.context).items()}
        yield Expected(logins=tuple(dict.fromkeys(found)), values=values)

    def probe(self, expected: Expected) -> Probe:
        """Print the effective values of each login."""
        keys = "|".join(sorted(expected.values))
        script = (
            f"for login in {' '.join(map(shlex.quote, expected.logins))}; do\n"
            '  echo "## $login"\n'
            '  sshd -T -C "user=${login%% *},host=${login#* },addr=${login#* }" | '
            f"grep -E '^({keys}) ' || true\ndone"
        )
        return Probe.of(logins=script)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every key has the planned value for every login."""
        found = parse_logins(parse_sections(output).text("logins"))
        findings = []
        for login in expected.logins:
            values = found.get(login, {})
            user, _, address = login.partition(" ")
            for key, wanted in expected.values.items():
                got = _plain(values.get(key))
                if got is None and (not values or key not in _MAY_BE_ABSENT):
                    findings.append(unknown(f"{key} for {user} from {address}", "none"))
                elif got is not None and got.lower() != wanted.lower():
                    findings.append(failed(f"{key} {wanted} for {user} from {address}", got))
        return worst(
            findings,
            otherwise=f"expected the planned settings of sshd, got them for {len(expected.logins)} logins",
        )


def _plain(value: str | None) -> str | None:
    """Return the present name of a value; older servers print prohibit-password as "without-password"."""
    return "prohibit-password" if value == "without-password" else value
