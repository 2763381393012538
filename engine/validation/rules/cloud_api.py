"""Rules about the APIs of clouds: sections, surfaces and credentials that fit `api`. Pure functions of one site."""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...spec.gateway.section import Cloud
from .rule import SiteUnderValidation

_SECTIONS = {"azure-openai": "azure", "bedrock": "bedrock", "vertex": "vertex"}
"""Section of each provider, by API."""
_REQUIRED = frozenset({"bedrock", "vertex"})
# As in gateway/settings/traffic/upstream_api.py; tests/engine/plan/test_cloud_apis.py compares the two.
_BOTH = frozenset({"chat.completions", "messages"})
_SERVED = {
    "azure-openai": _BOTH | {"completions", "embeddings", "responses"},
    "anthropic": _BOTH,
    "bedrock": _BOTH,
    "vertex": _BOTH,
}


def check_cloud_apis(site: SiteUnderValidation) -> Iterator[Problem]:
    """Check `api` of every cloud, and the keys that depend on it."""
    gateway = site.spec.gateway
    for index, cloud in enumerate(gateway.clouds if gateway else []):
        where = f"gateway.clouds[{index}]"
        yield from _sections(cloud, where)
        yield from _surfaces(cloud, where)
        yield from _credentials(cloud, where)


def served(cloud: Cloud) -> frozenset[str] | None:
    """Return the APIs of clients that a cloud may serve; None for all."""
    surfaces = _SERVED.get(cloud.api)
    if surfaces is not None and cloud.azure is not None and cloud.azure.api_version is not None:
        return surfaces - {"responses"}
    return surfaces


def _sections(cloud: Cloud, where: str) -> Iterator[Problem]:
    for api, section in _SECTIONS.items():
        has_section = getattr(cloud, section) is not None
        if has_section and cloud.api != api:
            yield Problem(
                f"expected this section only with api `{api}`, got `{cloud.api}`",
                where=f"{where}.{section}",
                hint=f"remove it, or write `api: {api}`",
            )
        elif not has_section and cloud.api == api and api in _REQUIRED:
            yield Problem(
                f"expected the section `{section}` with api `{api}`, got none",
                where=f"{where}.{section}",
                hint="docs/upstream-apis.md has an example",
            )


def _surfaces(cloud: Cloud, where: str) -> Iterator[Problem]:
    known = served(cloud)
    for number, surface in enumerate(cloud.surfaces):
        if known is not None and surface not in known:
            yield Problem(
                f"expected one of {', '.join(sorted(known))} with api `{cloud.api}`, got `{surface}`",
                where=f"{where}.surfaces[{number}]",
                hint="remove it; the cloud lacks this API, and the gateway does not translate it",
            )
    for number, surface in enumerate(cloud.translated_surfaces):
        if cloud.api != "openai":
            yield Problem(
                f"expected none with api `{cloud.api}`, got `{surface}`",
                where=f"{where}.translated_surfaces[{number}]",
                hint="remove it; this API is always translated",
            )
        elif surface not in cloud.surfaces:
            yield Problem(
                f"expected one of `surfaces`, got `{surface}`",
                where=f"{where}.translated_surfaces[{number}]",
                hint=f"add `{surface}` to surfaces",
            )


def _credentials(cloud: Cloud, where: str) -> Iterator[Problem]:
    if cloud.bedrock is not None and (cloud.bedrock.credentials is None) == (cloud.api_key is None):
        yield Problem(
            f"expected one of `bedrock.credentials` and `api_key`, got {'both' if cloud.api_key else 'neither'}",
            where=f"{where}.bedrock.credentials",
            hint="name the file with the keys of AWS, or a Bedrock API key",
        )
    if cloud.vertex is not None and cloud.api_key is not None:
        yield Problem(
            "expected none with api `vertex`, got one",
            where=f"{where}.api_key",
            hint="remove it; `vertex.service_account` authorizes requests",
        )
