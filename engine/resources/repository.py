"""Package sources of apt: the site's mirror only."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ..facts.node import NodeFacts
from ..spec import Node
from .context import Context, render
from .resource import Desired, State
from .resource_type import Query, ResourceType

SOURCE = "/etc/apt/sources.list.d/sovctl.sources"
KEY = "/etc/apt/keyrings/sovctl.asc"
POLICY = "/etc/apt/apt.conf.d/99sovctl"
PLACES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*")
POLICY_TEXT_TEMPLATE, SOURCE_TEMPLATE = "99sovctl.j2", "sovctl.sources.j2"


def _expect(context: Context, _node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    url = str(context.spec.artifacts.apt_url).rstrip("/")
    yield Desired(
        kind="repository",
        name="site-mirror",
        state={
            "source_sha256": sha256_hex(render("repository", SOURCE_TEMPLATE, url=url, key=KEY)),
            "key_sha256": context.apt_key_sha256,
            "policy_sha256": sha256_hex(render("repository", POLICY_TEXT_TEMPLATE)),
            "other_sources": [],
        },
        why=f"packages only from {url}, without automatic upgrades",
        variables={"url": url, "key_file": context.spec.artifacts.apt_key_file},
        minutes=0.3,
    )


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    others = [
        path
        for path, entry in facts.files.items()
        if path.startswith("/etc/apt/sources.list")
        and path.endswith((".list", ".sources"))
        and path != SOURCE
        and entry.get("size", 0) > 0
    ]
    return {
        "source_sha256": facts.sha256(SOURCE),
        "key_sha256": facts.sha256(KEY),
        "policy_sha256": facts.sha256(POLICY),
        "other_sources": sorted(others),
    }


RESOURCE_TYPE = ResourceType(
    "repository", _expect, _observe, lambda _context, _node: Query(hash=(*PLACES, KEY, POLICY))
)
