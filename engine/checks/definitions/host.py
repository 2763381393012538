"""The node itself: ssh by key only, a clock that follows the site's sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.chrony import Source, parse_sources, parse_tracking
from ...facts.sshd import parse_sshd
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from ..model.probe_sections import read_parts

# Accepted values by key of `sshd -T`. "without-password" is what older servers print for prohibit-password.
SSH_BY_KEY_ONLY = {
    "pubkeyauthentication": ("yes",),
    "passwordauthentication": ("no",),
    "kbdinteractiveauthentication": ("no",),
    "permitemptypasswords": ("no",),
    "hostbasedauthentication": ("no",),
    "gssapiauthentication": ("no",),
    "permitrootlogin": ("no", "prohibit-password", "without-password", "forced-commands-only"),
}
# Some builds leave the mechanism out; an answer without the key then means that it cannot be used.
_MAY_BE_ABSENT = frozenset({"gssapiauthentication"})
MAX_STRATUM = 15  # 16 means unsynchronised, RFC 5905 section 7.3


@dataclass(frozen=True, kw_only=True)
class SshExpectation(Expectation):
    """Logins for which the server's answer is asked; a Match block may differ between them."""

    users: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClockExpectation(Expectation):
    """From `site.yaml: clock`."""

    servers: tuple[str, ...]
    max_offset_ms: float


def judge_ssh(output: ProbeOutput, expectation: SshExpectation) -> Judgement:
    """The server's effective configuration lets nobody in but by key."""
    parts = read_parts(output)
    findings: list[Judgement] = []
    for number, user in enumerate(expectation.users):
        values = parse_sshd(parts.text(f"user_{number}"))
        findings += _ssh(user, values)
    return worst(findings, otherwise=f"expected keys only, got that for {', '.join(expectation.users)}")


def _ssh(user: str, values: dict[str, str]) -> Iterator[Judgement]:
    for key, accepted in SSH_BY_KEY_ONLY.items():
        got = values.get(key)
        if got is None:
            if key not in _MAY_BE_ABSENT:
                yield unknown(f"{key} for {user}", "none")
        elif got not in accepted:
            yield failed(f"{key} {' or '.join(accepted)} for {user}", got)


def judge_clock(output: ProbeOutput, expectation: ClockExpectation) -> Judgement:
    """The clock follows one of the site's own sources, now, and its largest possible error is small enough."""
    parts = read_parts(output)
    tracking, sources = parse_tracking(parts.text("tracking")), parse_sources(parts.text("sources"))
    if tracking.leap != "Normal" or tracking.stratum > MAX_STRATUM or tracking.stratum == 0:
        return failed("a synchronised clock", f"{tracking.leap}, stratum {tracking.stratum}")
    error_ms = tracking.error_bound_s * 1000
    findings = list(_sources(sources, expectation.servers))
    if error_ms > expectation.max_offset_ms:
        findings.append(failed(f"at most {expectation.max_offset_ms:g} ms of error", f"up to {error_ms:.3f} ms"))
    return worst(
        findings,
        otherwise=f"expected {' or '.join(expectation.servers)} within {expectation.max_offset_ms:g} ms, "
        f"got {tracking.reference} within {error_ms:.3f} ms",
    )


def _sources(sources: tuple[Source, ...], servers: tuple[str, ...]) -> Iterator[Judgement]:
    selected = [each for each in sources if each.state == "*"]
    if not selected:
        yield failed("a selected source", "none")
    for each in selected:
        if each.reach == 0:
            yield failed(f"answers from {each.name}", "none of the last eight polls")
    for each in sources:
        if each.name not in servers:
            yield failed(f"only {', '.join(servers)} as source", each.name)
