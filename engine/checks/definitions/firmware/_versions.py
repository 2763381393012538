"""Expectation of the checks of firmware, and the comparison of stated versions with permitted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....spec import Node
from ...model.check import Expectation, Judgement, failed, unknown, worst
from ...model.check_context import CheckContext


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Permitted versions from site.yaml; empty if every stated version is permitted."""

    versions: tuple[str, ...] = ()


def permitted(site: CheckContext, node: Node, part: str) -> Expected:
    """Return the permitted versions of a part.

    Args:
        part: field of `node_groups[].firmware`.
    """
    versions: Sequence[str] = getattr(site.context.group(node).firmware, part)
    return Expected(versions=tuple(versions))


def judge_versions(stated: Mapping[str, str | None], expected: Expected) -> Judgement:
    """Fail for a version that is not permitted; UNKNOWN for a part that states none.

    Args:
        stated: version by name of the part.
    """
    wanted = " or ".join(expected.versions)
    findings = []
    for name, version in stated.items():
        if version in (None, "", "N/A"):
            findings.append(unknown(f"the firmware of {name}", "none"))
        elif expected.versions and version not in expected.versions:
            findings.append(failed(f"firmware {wanted} of {name}", str(version)))
    got = ", ".join(sorted({str(version) for version in stated.values()}))
    return worst(findings, otherwise=f"expected {wanted or 'a stated version'}, got {got} of {len(stated)} parts")
