"""Rules of `mirror`."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from .rule import SiteUnderValidation, duplicates, unknown_name


def check_mirror(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield problems of nodes and URLs of the mirror."""
    mirror = site.spec.mirror
    if mirror is None:
        return
    known = {node.name: (group, node) for group, node in site.spec.nodes()}
    yield from duplicates("node", ((f"mirror.nodes[{index}]", each) for index, each in enumerate(mirror.nodes)))
    for index, name in enumerate(mirror.nodes):
        where = f"mirror.nodes[{index}]"
        yield from unknown_name("node", name, list(known), where)
        if name not in known:
            continue
        platform = site.catalog.platforms.get(known[name][0].platform)
        if platform is not None and platform.has_gpus:
            yield Problem(f"node {name} has GPUs", where=where, hint="use a node of a group with platform `service`")
        if site.spec.gateway is not None and name in site.spec.gateway.nodes:
            hint = "use another node: a mirror changes before all nodes, and a gateway after them"
            yield Problem(f"node {name} has the gateway", where=where, hint=hint)
    if mirror.nodes[0] in known:
        start = f"https://{known[mirror.nodes[0]][1].address}:{mirror.port}/current/"
        for key in ("apt_url", "wheels_url", "models_url"):
            if not str(getattr(site.spec.artifacts, key)).startswith(start):
                hint = "the URL names the first mirror node; nodes use the selected snapshot, and the other mirrors"
                yield Problem(f"expected a URL that begins with {start}", where=f"artifacts.{key}", hint=hint)
