"""Package sources: the site's mirror only, and the driver's version in apt's preferences.

- apt: source, key, policy without automatic upgrades, and preferences that keep all packages of NVIDIA's driver, also
  those that apt adds as dependencies, at the driver's version of the lock.
- dnf: a source file and the module stream of the driver. They are planned, not written: no role supports dnf yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...catalog.operating_systems import Apply, supported
from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context, render
from ..credential import fingerprint
from ..mirror import urls as mirror_urls
from ..resource import Desired, State
from ..resource_type import Query, ResourceType

SOURCE = "/etc/apt/sources.list.d/sovctl.sources"
KEY = "/etc/apt/keyrings/sovctl.asc"
POLICY = "/etc/apt/apt.conf.d/99sovctl"
PREFERENCES = "/etc/apt/preferences.d/sovctl"
MIRRORS = "/etc/apt/sovctl-mirrors.txt"
"""URLs of several mirrors in order of preference; apt uses the next one if one fails (apt-transport-mirror(1))."""
PLACES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*")
POLICY_TEXT_TEMPLATE, SOURCE_TEMPLATE, PREFERENCES_TEMPLATE = "99sovctl.j2", "sovctl.sources.j2", "preferences.j2"
MIRRORS_TEMPLATE = "mirrors.txt.j2"
DNF_SOURCE, DNF_PLACES = "/etc/yum.repos.d/sovctl.repo", "/etc/yum.repos.d/*"
DNF_MODULE = "/etc/dnf/modules.d/nvidia-driver.module"


def source(context: Context, node: Node) -> tuple[str, tuple[str, ...]]:
    """Return the URI of the node's only package source, and the repositories that it means, in order of preference."""
    urls = mirror_urls.urls(context, node, context.spec.artifacts.apt_url)
    return urls[0] if len(urls) == 1 else f"mirror+file:{MIRRORS}", urls


def _expect(context: Context, node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    url, urls = source(context, node)
    ca = mirror_urls.ca(context, node)
    row = None if facts is None else supported(facts.system)
    has_gpus = context.platform(node).has_gpus
    keeps_others = row is not None and row.apply is Apply.ASSERTED  # NVIDIA's update of DGX OS needs its own sources
    pinned = context.lock.driver_version if has_gpus and row is not None and row.apply is Apply.MANAGED else ""
    if row is not None and row.package_manager == "dnf":
        stream = (row.driver_module or "").format(**context.lock.values) if has_gpus else ""
        state: dict[str, object] = {"source": DNF_SOURCE, "other_sources": []}
        state |= {"driver_stream": stream} if stream else {}
        why = f"packages only from {url}"
    else:
        state = {
            "source_sha256": sha256_hex(render("repository", SOURCE_TEMPLATE, url=url, key=KEY)),
            "key_sha256": context.apt_key_sha256,
            "policy_sha256": sha256_hex(render("repository", POLICY_TEXT_TEMPLATE, ca=ca)),
        }
        if len(urls) > 1:
            state["mirrors_sha256"] = sha256_hex(render("repository", MIRRORS_TEMPLATE, urls=list(urls)))
        if ca:
            state["ca_fingerprint"] = context.fingerprint(node, mirror_urls.CA_FILE)
        if not keeps_others:
            state["other_sources"] = []
        if pinned:
            state["pin_sha256"] = sha256_hex(render("repository", PREFERENCES_TEMPLATE, driver_version=pinned))
        others = "; sources of DGX OS remain" if keeps_others else ""
        why = f"packages {'' if keeps_others else 'only '}from {', '.join(urls)}, without automatic upgrades{others}"
    yield Desired(
        kind="repository",
        name="site-mirror",
        state=state,
        why=why,
        variables={
            "url": url,
            "urls": list(urls),
            "ca_file": ca,
            "key_file": context.spec.artifacts.apt_key_file,
            "driver_version": pinned,
            "keeps_other_sources": keeps_others,
        },
        minutes=0.3,
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if "source" in (desired.state or {}):
        return {
            "source": DNF_SOURCE if DNF_SOURCE in facts.files else None,
            "other_sources": _others(facts, "/etc/yum.repos.d/", (".repo",), DNF_SOURCE),
            "driver_stream": _stream(facts.texts.get(DNF_MODULE) or ""),
        }
    ca = facts.sha256(mirror_urls.CA)
    return {
        "source_sha256": facts.sha256(SOURCE),
        "key_sha256": facts.sha256(KEY),
        "policy_sha256": facts.sha256(POLICY),
        "mirrors_sha256": facts.sha256(MIRRORS),
        "ca_fingerprint": None if ca is None else fingerprint(ca),
        "other_sources": _others(facts, "/etc/apt/sources.list", (".list", ".sources"), SOURCE),
        "pin_sha256": facts.sha256(PREFERENCES),
    }


def _others(facts: NodeFacts, prefix: str, suffixes: tuple[str, ...], own: str) -> list[str]:
    return sorted(
        path
        for path, entry in facts.files.items()
        if path.startswith(prefix) and path.endswith(suffixes) and path != own and entry.get("size", 0) > 0
    )


def _stream(text: str) -> str | None:
    """Return the enabled stream of a file in /etc/dnf/modules.d; None without one."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return values.get("stream") or None if values.get("state") == "enabled" else None


RESOURCE_TYPE = ResourceType(
    "repository",
    _expect,
    _observe,
    lambda _context, _node: Query(
        hash=(*PLACES, KEY, POLICY, PREFERENCES, MIRRORS, mirror_urls.CA, DNF_PLACES), read=(DNF_MODULE,)
    ),
)
