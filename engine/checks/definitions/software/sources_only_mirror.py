"""software.sources-only-mirror: apt uses only the site's mirror, and verifies its signature.

On DGX OS, the signed sources of the system remain, because NVIDIA's updates need them. Their hosts must be in the
perimeter to be reached.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.operating_system import DGX_RELEASE
from ....facts.packages.apt_sources import FILE_MARK, parse_index_targets, parse_source_files
from ....facts.unreadable import Unreadable, excerpt
from ....resources.software import repository
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

# Settings that disable the verification of signatures.
_INSECURE_SETTINGS = (
    "Acquire::AllowInsecureRepositories",
    "Acquire::AllowDowngradeToInsecureRepositories",
    "APT::Get::AllowUnauthenticated",
)
_ALWAYS_PRINTED = 2
"""apt prints the first settings always (apt.conf(5), measured with apt 2.6)."""
_NO_DGX_OS = "absent"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `site.yaml: artifacts.apt_url` and `mirror`, without a trailing slash, and the node's platform."""

    apt_url: str
    mirrors: tuple[str, ...] = ()
    """Repositories in the list of mirrors, in order; empty without a list."""
    may_keep_others: bool = False
    """Whether signed sources remain if the node runs DGX OS."""


class SourcesOnlyMirror(Check[Expected]):
    id, version, method = "software.sources-only-mirror", 1, Method.EXAMINE
    title = "the site's signed mirror is the only package source"
    controls = ("cm-11", "cm-14", "cm-7", "sr-11")
    severity = Severity.HIGH
    remedy = "remove the other source, or run `sovctl plan` and `sovctl apply`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        url, mirrors = repository.source(site.context, node)
        listed = mirrors if len(mirrors) > 1 else ()
        yield Expected(
            apt_url=url.replace("file:///", "file:/"),
            mirrors=listed,
            may_keep_others=site.context.platform(node).family == "dgx",
        )

    def probe(self, expected: Expected) -> Probe:
        """Print the index targets that apt uses, its source files, and its settings for unsigned repositories."""
        paths = "/etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources"
        files = f'for f in {paths}; do [ -s "$f" ] && {{ echo "{FILE_MARK}$f"; cat "$f"; echo; }}; done; true'
        names = f"^({'|'.join(_INSECURE_SETTINGS)}) "
        settings = f"apt-config dump --format '%f %v%n' | grep -iE {shlex.quote(names)}"
        release = f"if [ -e {DGX_RELEASE} ]; then cat {DGX_RELEASE}; else echo {_NO_DGX_OS}; fi"
        mirrors = {"mirrors": f"cat {repository.MIRRORS}"} if expected.mirrors else {}
        return Probe.of(targets="apt-get indextargets", files=files, settings=settings, dgx_release=release, **mirrors)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if targets and files name only the mirror, its signature is valid, and no setting skips signatures."""
        sections = parse_sections(output)
        targets, entries = parse_index_targets(sections.text("targets")), parse_source_files(sections.text("files"))
        release = sections.text("dgx_release").strip()
        if release != _NO_DGX_OS and "DGX_" not in release:
            raise Unreadable("a release of DGX OS, or none", release, where=DGX_RELEASE)
        keeps_others = expected.may_keep_others and release != _NO_DGX_OS
        is_mirror = any(_without_slash(target.repo_uri) == expected.apt_url for target in targets)
        findings = [] if is_mirror and entries else [failed(f"{expected.apt_url} as a source", "no source")]
        for target in targets:
            if _without_slash(target.repo_uri) != expected.apt_url and not (keeps_others and target.is_verified):
                findings.append(failed(f"only {expected.apt_url}", excerpt(target.repo_uri)))
            elif not target.is_verified:
                findings.append(failed("a mirror with a verified signature", f"none in {target.entry}"))
        for entry in entries:
            findings += [
                failed(f"only {expected.apt_url}", f"{excerpt(uri)} in {entry.file}")
                for uri in entry.uris
                if _without_slash(uri) != expected.apt_url and not keeps_others
            ]
            is_own = expected.apt_url in map(_without_slash, entry.uris)
            if entry.signed_by is None and (is_own or not keeps_others):
                findings.append(failed("`Signed-By` with the site's key", f"none in {entry.file}"))
            findings += [failed("no option that skips signatures", f"{each} in {entry.file}") for each in entry.forced]
        lines = sections.text("mirrors").splitlines() if expected.mirrors else []
        mirrors = tuple(line.split("\t")[0].rstrip("/") for line in lines)
        if mirrors != expected.mirrors:
            findings.append(failed(f"mirrors {', '.join(expected.mirrors)}", excerpt(", ".join(mirrors) or "none")))
        findings += _setting_findings(sections.text("settings"))
        got = "only signed sources of DGX OS besides" if keeps_others else "no other source"
        return worst(findings, otherwise=f"expected only {expected.apt_url}, signed by the site's key, got {got}")


def _setting_findings(text: str) -> Iterator[Judgement]:
    """Yield a finding for each setting that is on. Text without the first ones is unreadable."""
    values = dict(line.partition(" ")[::2] for line in text.splitlines() if line.strip())
    known = {name.lower() for name in values}
    if missing := [name for name in _INSECURE_SETTINGS[:_ALWAYS_PRINTED] if name.lower() not in known]:
        raise Unreadable(f"apt's setting {missing[0]}", text, where="apt-config dump")
    for name, value in values.items():
        if value.strip('"').lower() not in ("", "0", "false", "no"):
            yield failed(f"{name} off", value)


def _without_slash(uri: str) -> str:
    return uri.removesuffix("./").rstrip("/").replace("file:///", "file:/")
