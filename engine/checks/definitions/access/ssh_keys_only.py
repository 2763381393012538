"""access.ssh-keys-only: sshd accepts public keys and no other authentication method."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.sshd import parse_sshd
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

# Accepted values of each key of `sshd -T`. Older servers print prohibit-password as "without-password".
_ACCEPTED = {
    "pubkeyauthentication": ("yes",),
    "passwordauthentication": ("no",),
    "kbdinteractiveauthentication": ("no",),
    "permitemptypasswords": ("no",),
    "hostbasedauthentication": ("no",),
    "gssapiauthentication": ("no",),
    "permitrootlogin": ("no", "prohibit-password", "without-password", "forced-commands-only"),
}
# Builds without GSSAPI support do not print the key.
_MAY_BE_ABSENT = frozenset({"gssapiauthentication"})


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Logins whose effective configuration is read, because `Match` blocks can differ between them."""

    users: tuple[str, ...]


class SshKeysOnly(Check[Expected]):
    id, version, method = "access.ssh-keys-only", 1, Method.EXAMINE
    title = "sshd accepts public keys only"
    controls = ("ac-17", "ia-2", "ia-5")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`; remove other files in `sshd_config.d` that permit passwords"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node, for the user of `site.yaml: access` and for root."""
        yield Expected(users=tuple(dict.fromkeys((site.context.spec.access.user, "root"))))

    def probe(self, expected: Expected) -> Probe:
        """Print the effective configuration for each login."""
        return Probe(
            {
                f"user_{number}": f"sshd -T -C {shlex.quote(f'user={user},host=localhost,addr=127.0.0.1')}"
                for number, user in enumerate(expected.users)
            }
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every key has an accepted value for every login."""
        sections = parse_sections(output)
        findings: list[Judgement] = []
        for number, user in enumerate(expected.users):
            findings += _findings(user, parse_sshd(sections.text(f"user_{number}")))
        return worst(findings, otherwise=f"expected public keys only, got the same for {', '.join(expected.users)}")


def _findings(user: str, values: dict[str, str]) -> Iterator[Judgement]:
    for key, accepted in _ACCEPTED.items():
        got = values.get(key)
        if got is None:
            if key not in _MAY_BE_ABSENT:
                yield unknown(f"{key} for {user}", "none")
        elif got not in accepted:
            yield failed(f"{key} {' or '.join(accepted)} for {user}", got)
