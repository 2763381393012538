"""Answers of the nodes and the mirror of a site, measured over the network: `sovctl doctor --nodes`.

The connection, the host key, sudo and python3 are measured by the same worker that gathers the facts of a plan.
Nothing is written on a node.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from ..gather.captures import Capture
from ..gather.gather import REMEDIES, Request, gather
from ..spec import SiteSpec

COMMANDS = {
    "time": ["date", "-u", "+%s.%N"],
    "space": ["df", "-B1", "--output=target,size,avail,itotal,iavail", "/"],
}
_TIMEOUT_S = 10.0
_MANIFEST_LIMIT_BYTES = 16 << 20


@dataclass(frozen=True)
class Download:
    """Answer of one URL of the mirror.

    Args:
        sha256: of the content; empty without one.
        error: reason without content.
    """

    url: str
    sha256: str = ""
    error: str = ""


@dataclass(frozen=True)
class Answers:
    """Answers of one run.

    Args:
        captures: by node.
        failures: message and remedy by node that cannot be observed.
        asked, answered: times of the controller before the first question and after the last answer, UTC.
        repository: answer of the package repository.
        manifests: answers by name of a model or adapter.
    """

    captures: Mapping[str, Capture]
    failures: Mapping[str, tuple[str, str]]
    asked: datetime
    answered: datetime
    repository: Download
    manifests: Mapping[str, Download]


def ask(spec: SiteSpec, folder: Path, *, report: Callable[[str], None]) -> Answers:
    """Contact all nodes and the mirror.

    Args:
        folder: of site.yaml.

    Raises:
        InputError: a file of `access` is unusable.
    """
    request = Request(COMMANDS, (), (), spec.access.command_timeout_s)
    asked = datetime.now(UTC)
    gathered = gather(spec, folder, {node.name: request for _, node in spec.nodes()}, report=report)
    answered = datetime.now(UTC)
    # Mirror nodes answer nodes of the site only; `supply` reads the selected snapshot on the controller instead.
    asked_manifests = [] if spec.mirror else list(manifests(spec))
    apt, models = (str(url).rstrip("/") for url in (spec.artifacts.apt_url, spec.artifacts.models_url))
    return Answers(
        captures=gathered.captures,
        failures={name: (message, REMEDIES[cause]) for name, (cause, message) in gathered.failures.items()},
        asked=asked,
        answered=answered,
        repository=Download(apt, error="not contacted") if spec.mirror else download(f"{apt}/InRelease"),
        manifests={name: download(f"{models}/{name}/MANIFEST") for _, name, _ in asked_manifests},
    )


def manifests(spec: SiteSpec) -> Iterator[tuple[str, str, str]]:
    """Yield place in site.yaml, name and SHA-256 of the MANIFEST of each model and adapter."""
    for index, model in enumerate(spec.models):
        yield f"models[{index}].manifest_sha256", model.name, model.manifest_sha256
    for index, pool in enumerate(spec.pools):
        for number, adapter in enumerate(pool.adapters):
            yield f"pools[{index}].lora.adapters[{number}].manifest_sha256", adapter.name, adapter.manifest_sha256


def download(url: str) -> Download:
    """Return the digest of a small file of the mirror. Proxies of the environment are ignored."""
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=_TIMEOUT_S) as answer:
            content = answer.read(_MANIFEST_LIMIT_BYTES + 1)
    except HTTPError as error:
        return Download(url, error=f"status {error.code}")
    except URLError as error:
        reason = error.reason
        return Download(url, error=_words(reason) if isinstance(reason, OSError) else str(reason))
    except (OSError, http.client.HTTPException) as error:
        return Download(url, error=_words(error))
    if len(content) > _MANIFEST_LIMIT_BYTES:
        return Download(url, error=f"larger than {_MANIFEST_LIMIT_BYTES >> 20} MiB")
    return Download(url, sha256=hashlib.sha256(content).hexdigest())


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return "the certificate is not trusted"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
