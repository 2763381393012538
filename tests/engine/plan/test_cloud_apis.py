"""APIs of clouds from site.yaml to the gateway: what is rendered is what it reads, and both know the same APIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from strategies import EXAMPLES, TODAY

from sovctl.engine.catalog import load_catalog
from sovctl.engine.plan.build import context_of
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.credential import cloud_files
from sovctl.engine.resources.gateway.service import configuration
from sovctl.engine.spec.gateway.cloud_api import AzureOpenAI, Bedrock, CloudApi, Vertex
from sovctl.engine.spec.gateway.section import Cloud, CloudSurface
from sovctl.engine.validation.load import parse
from sovctl.engine.validation.presets import FOLDER
from sovctl.engine.validation.rules.cloud_api import served
from sovctl.gateway.settings import BedrockSettings, SurfaceName, UpstreamApi, UpstreamSettings, VertexSettings
from sovctl.gateway.settings import load_settings as load
from sovctl.gateway.settings.traffic.upstream_api import AzureSettings, served_by

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/spec/cloud_apis.yaml").read_text())
VALID = [name for name, case in CASES.items() if not case["problems"]]


def site(name: str) -> Context:
    text = (FOLDER / "lab.yaml").read_text()
    for old, new in CASES[name]["replace"]:
        text = text.replace(old, new)
    return context_of(
        parse(text.encode(), path=Path("site.yaml"), today=TODAY, catalog=load_catalog()).spec, EXAMPLES / "lab"
    )


def rendered(name: str, folder: Path) -> tuple[Context, UpstreamSettings]:
    context = site(name)
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(configuration(context), sort_keys=False))
    return context, load(path).upstream("sovereign-cloud")


@pytest.mark.parametrize("name", VALID)
def test_the_gateway_accepts_what_is_rendered_for_it(name: str, tmp_path: Path) -> None:
    context, upstream = rendered(name, tmp_path)
    (cloud,) = context.gateway.clouds
    assert upstream.api.value == cloud.api
    assert [surface.value for surface in upstream.surfaces] == list(cloud.surfaces)
    files = {credential.path for credential in cloud_files(context)}
    named = [upstream.api_key_file, upstream.ca_file]
    if upstream.bedrock is not None:
        named.append(upstream.bedrock.credentials_file)
    if upstream.vertex is not None:
        named += [upstream.vertex.service_account_file, upstream.vertex.token_ca_file]
    assert {str(file) for file in named if file is not None} == files


def test_values_of_a_provider_reach_the_gateway(tmp_path: Path) -> None:
    _, bedrock = rendered("everything about a cloud on Bedrock", tmp_path)
    assert bedrock.bedrock is not None
    assert (bedrock.bedrock.region, bedrock.bedrock.profile, bedrock.default_max_tokens) == (
        *("eu-central-1", "gateway"),
        1000,
    )
    _, vertex = rendered("everything about a cloud on Vertex", tmp_path)
    assert vertex.vertex is not None
    assert (vertex.vertex.project, str(vertex.vertex.token_url)) == ("p-1", "https://10.88.0.2/token")
    _, azure = rendered("everything about a cloud on Azure", tmp_path)
    assert azure.key_header == "api-key"


def test_providers_have_the_same_words_at_both_ends() -> None:
    assert list(get_args(CloudApi)) == [each.value for each in UpstreamApi]
    renamed = {"credentials": "credentials_file", "service_account": "service_account_file"}
    for spec, settings in ((AzureOpenAI, AzureSettings), (Bedrock, BedrockSettings), (Vertex, VertexSettings)):
        assert [renamed.get(name, name) for name in spec.model_fields] == list(settings.model_fields)


@pytest.mark.parametrize("api", get_args(CloudApi))
@pytest.mark.parametrize("version", [None, "2024-10-21"])
@pytest.mark.parametrize("publisher", ["anthropic", "google"])
def test_the_same_surfaces_are_served_at_both_ends(api: str, version: str | None, publisher: Any) -> None:
    fields: dict[str, Any] = {"name": "c", "base_url": "https://10.0.0.1/", "model": "m", "jurisdiction": "DE"}
    vertex = {"project": "p", "location": "l", "publisher": publisher}
    cloud = Cloud.model_validate(
        {
            **fields,
            "api": api,
            **({"azure": {"api_version": version}} if api == "azure-openai" else {}),
            **({"vertex": {**vertex, "service_account": {"env": "V"}}} if api == "vertex" else {}),
        }
    )
    known = served_by(
        UpstreamApi(api),
        azure=AzureSettings(api_version=version),
        vertex=VertexSettings.model_validate({**vertex, "service_account_file": "/v"}),
    )
    names = {name for group in get_args(CloudSurface) for name in get_args(group) or (group,)}
    both = {surface.value for surface in known.native | known.translated} & names
    assert (served(cloud) or names) == both
    assert SurfaceName.CHAT in known.native | known.translated
