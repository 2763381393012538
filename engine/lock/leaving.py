"""Export of an inventory: pseudonyms for names of the site, and a list in words of the data that leave it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from ..spec import SiteSpec
from .inventory import NodeStatus, PackageBase, SiteInventory


def pseudonym(index: int) -> str:
    """Return the pseudonym of a node.

    Args:
        index: its position in site.yaml, from 0.
    """
    return f"node-{index + 1}"


def with_pseudonyms(inventory: SiteInventory, spec: SiteSpec) -> SiteInventory:
    """Return the inventory without names of nodes, their addresses, the site, and hosts of repositories.

    The holder of site.yaml can invert the names of nodes, because the N-th node of site.yaml is `node-N`.
    """
    names = {node.name: pseudonym(index) for index, (_, node) in enumerate(spec.nodes())}
    addresses = {str(node.address): pseudonym(index) for index, (_, node) in enumerate(spec.nodes())}
    hosts = sorted({_host(uri) for node in inventory.nodes for uri in node.repositories} - {""})
    words = names | addresses | {host: f"host-{number}.example" for number, host in enumerate(hosts, 1)}
    words[spec.site.name] = "site-1"

    def hidden(text: str) -> str:
        return _replaced(text, words)

    moved: dict[str, str] = {}
    bases: dict[str, PackageBase] = {}
    for old, base in inventory.bases.items():
        new = replace(base, preferences={hidden(path): hidden(text) for path, text in base.preferences.items()})
        bases[new.sha256], moved[old] = new, new.sha256

    def renamed(node: NodeStatus) -> NodeStatus:
        repositories = tuple(sorted(map(hidden, node.repositories)))
        return replace(node, name=names[node.name], repositories=repositories, base=moved[node.base])

    return replace(
        inventory,
        site="site-1",
        nodes=tuple(map(renamed, inventory.nodes)),
        bases=bases,
        not_measured={names.get(name, "node"): "not measured" for name in inventory.not_measured},
        has_pseudonyms=True,
    )


def _host(uri: str) -> str:
    return urlsplit(uri).hostname or ""


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """Return a text with whole words replaced, the longest first."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    pattern = r"(?<![\w-])(?:" + "|".join(map(re.escape, ordered)) + r")(?![\w-])"
    return re.sub(pattern, lambda match: words[match[0]], text)


def words_of(inventory: SiteInventory) -> Iterator[str]:
    """Yield the data that leave the site, one line for each kind."""
    nodes = len(inventory.nodes)
    yield f"name of the site: {inventory.site}; time: {inventory.collected}"
    yield f"{nodes} nodes{' under pseudonyms' if inventory.has_pseudonyms else ''}: " + ", ".join(
        node.name for node in inventory.nodes
    )
    yield "of each node: operating system, kernels, glibc, Python, kind of machine"
    kernels = sorted({each for node in inventory.nodes for each in (*(node.kernels or ()), node.system["kernel"])})
    yield f"kernels: {', '.join(kernels)}"
    for name, base in sorted(inventory.bases.items()):
        count = base.status.count("\n\n") if base.manager == "apt" else base.status.count("\n")
        users = [node.name for node in inventory.nodes if node.base == name]
        yield f"status of {count} packages ({base.manager}), names and versions, of {', '.join(users)}"
        yield from (f"text of {path}" for path in base.preferences)
    repositories = sorted({uri for node in inventory.nodes for uri in node.repositories})
    yield f"package sources: {', '.join(repositories) or 'none'}"
    devices = {each for node in inventory.nodes for each in node.devices or ()}
    yield f"PCI ids of {len(devices)} types of devices, and models and versions of firmware"
    yield from (f"reason why {name} was not measured" for name in sorted(inventory.not_measured))
    yield "not included: serial numbers, addresses, users, keys, logs, configuration files other than those above"
