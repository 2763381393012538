"""What `vllm serve` is told: flags that it has, ports that are free, and ranks that find each other."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
import yaml
from strategies import PRESETS, context

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.serve_flags import load_serve_flags
from sovctl.engine.placement import Rank, Replica
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.pool import instance
from sovctl.engine.resources.serving.environment import environment
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.resources.software.model import folders
from sovctl.engine.spec import Pool
from sovctl.engine.spec.lora import Adapter, Lora
from sovctl.engine.spec.serving.api_server import Tools
from sovctl.engine.spec.serving.multimodal import Multimodal
from sovctl.engine.spec.serving.scheduler import Speculative
from sovctl.engine.spec.serving.section import ServeSection
from sovctl.engine.spec.serving.withheld import REFUSED
from sovctl.engine.validation.rules import check

ADAPTERS = Lora(adapters=[Adapter(name="letters", manifest_sha256="ab" * 32)], max_cpu_loras=2)
# Options that vLLM checks while it reads the flags.
OWN_SAMPLES: dict[str, dict[str, Any]] = {
    "StructuredOutputs": {"backend": "guidance"},
    "Multimodal": {"limit_mm_per_prompt": {"image": 2}},
    "Observability": {
        "show_hidden_metrics_for_version": "0.31",
        "custom_histogram_buckets": {"request_latency": [1.0]},
    },
    "Pooling": {"pooler_config": {"pooling_type": "MEAN"}},
}
# Flags that 0.32.0 no longer has: a start with one of them fails.
GONE = frozenset(
    [
        "disable-log-requests",
        "swap-space",
        "task",
        "device",
        "worker-use-ray",
        "num-scheduler-steps",
        "use-v2-block-manager",
        "guided-decoding-backend",
        "max-seq-len-to-capture",
        "enable-reasoning",
        "enable-prompt-adapter",
        "disable-frontend-multiprocessing",
    ]
)


needs_vllm = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed here")


def ranks() -> list[tuple[str, Replica, Rank]]:
    return [
        (preset, replica, rank) for preset in PRESETS for replica in context(preset).replicas for rank in replica.ranks
    ]


def known_flags() -> frozenset[str]:
    return frozenset(load_serve_flags().flags)


def test_every_flag_of_every_replica_is_one_that_vllm_has() -> None:
    used = {flag for preset, replica, rank in ranks() for flag in flags(context(preset), replica, rank)}
    assert used <= known_flags()
    assert not used & GONE


def test_flags_of_pools_with_more_than_a_preset_has_are_ones_that_vllm_has_and_go_through_the_file() -> None:
    more: dict[str, object] = {
        "lora": ADAPTERS,
        "data_parallel_size": 2,
        "enable_expert_parallel": True,
    }
    site = context("bank-hybrid")
    pools = [pool.model_copy(update=more) for pool in site.spec.pools]
    site = replace(site, spec=site.spec.model_copy(update={"pools": pools}))
    chosen = flags(site, site.replicas[0], site.replicas[0].ranks[0])
    assert {"enable-lora", "max-loras", "max-lora-rank", "lora-modules", "max-cpu-loras"} <= set(chosen)
    assert {"data-parallel-size", "enable-expert-parallel"} <= set(chosen)
    assert set(chosen) <= known_flags()
    item = {"name": "assistant", "flags": chosen}
    assert yaml.safe_load(render("pool", "pool.yaml.j2", item=item)) == chosen


def sample(annotation: Any) -> Any:
    """A value of a field: the last of its choices, the least number, or one item."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)[-1]
    if get_origin(annotation) is Annotated:
        kind, *about = get_args(annotation)
        if sample(kind) != 1 or isinstance(sample(kind), bool):
            return sample(kind)
        bounds = [part for each in about for part in (each, *getattr(each, "metadata", ()))]
        return next((each.ge for each in bounds if getattr(each, "ge", None)), 1)
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return sample(next(each for each in get_args(annotation) if each is not type(None)))
    if get_origin(annotation) is list:
        return [sample(get_args(annotation)[0])]
    return {bool: True, int: 1, float: 0.5, str: "1"}.get(annotation, {})


SECTIONS = [
    *(each.default_factory for each in Pool.model_fields.values() if isinstance(each.default_factory, type)),
]


@needs_vllm
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("section", [each for each in SECTIONS if issubclass(each, ServeSection)])
def test_vllms_own_parser_takes_every_field_of_a_section(section: type[ServeSection], tmp_path: Path) -> None:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    values = {name: sample(field.rebuild_annotation()) for name, field in section.model_fields.items()}
    chosen = section.model_validate(values | OWN_SAMPLES.get(section.__name__, {})).flags()
    file = tmp_path / "pool.yaml"
    file.write_text(render("pool", "pool.yaml.j2", item={"name": "chat", "flags": {"model": "m", **chosen}}))
    read = make_arg_parser(FlexibleArgumentParser()).parse_args(["--config", str(file)])
    assert {name.replace("-", "_") for name in chosen} <= set(vars(read))


@needs_vllm
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("more", [{}, {"lora": ADAPTERS}, {"data_parallel_size": 4, "enable_expert_parallel": True}])
def test_vllms_own_parser_takes_the_file_of_every_rank(preset: str, more: dict[str, object], tmp_path: Path) -> None:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    site = context(preset)
    pools = [pool.model_copy(update=more) for pool in site.spec.pools]
    site = replace(site, spec=site.spec.model_copy(update={"pools": pools}))
    parser, file = make_arg_parser(FlexibleArgumentParser()), tmp_path / "pool.yaml"
    for replica in site.replicas:
        for rank in replica.ranks:
            chosen = flags(site, replica, rank)
            item = {"name": instance(replica), "flags": chosen}
            file.write_text(render("pool", "pool.yaml.j2", item=item))
            read = parser.parse_args(["--config", str(file)])
            validate_parsed_serve_args(read)
            assert (read.model, read.tensor_parallel_size) == (chosen["model"], chosen["tensor-parallel-size"])


def test_the_flags_file_says_what_was_chosen() -> None:
    for preset, replica, rank in ranks():
        chosen = flags(context(preset), replica, rank)
        item = {"name": instance(replica), "flags": chosen}
        assert yaml.safe_load(render("pool", "pool.yaml.j2", item=item)) == chosen


def test_every_pool_asks_for_a_client_certificate_and_stays_offline() -> None:
    for preset, replica, rank in ranks():
        chosen = flags(context(preset), replica, rank)
        assert chosen["ssl-cert-reqs"] == 2
        assert chosen["ssl-ca-certs"]
        assert chosen["disable-uvicorn-access-log"]
        assert "enable-log-requests" not in chosen
        variables = environment(context(preset), replica, rank)
        assert (variables["HF_HUB_OFFLINE"], variables["VLLM_NO_USAGE_STATS"]) == ("1", "1")
        assert "VLLM_SERVER_DEV_MODE" not in variables


def test_a_pipeline_on_the_cpu_is_compiled_without_a_compiler() -> None:
    site = context("lab")
    pools = [each.model_copy(update={"pipeline_parallel_size": 2, "enforce_eager": False}) for each in site.spec.pools]
    piped = replace(site, spec=site.spec.model_copy(update={"pools": pools}))
    replica = site.replicas[0]
    chosen = flags(piped, replica, replica.ranks[0])
    assert json.loads(str(chosen["compilation-config"])) == {"mode": 2, "backend": "eager"}
    assert "TORCH_COMPILE_DISABLE" not in environment(piped, replica, replica.ranks[0])
    assert "compilation-config" not in flags(site, replica, replica.ranks[0])
    assert environment(site, replica, replica.ranks[0])["TORCH_COMPILE_DISABLE"] == "1"


def test_pools_fetch_media_only_from_hosts_of_their_routes() -> None:
    hosts = ["media.bank.example", "archive.bank.example"]
    for preset in PRESETS:
        site = context(preset)
        assert site.spec.gateway is not None
        first, *others = site.spec.gateway.routes
        routes = [first.model_copy(update={"media_hosts": hosts}), *others]
        opened = replace(
            site, spec=site.spec.model_copy(update={"gateway": site.gateway.model_copy(update={"routes": routes})})
        )
        for replica in site.replicas:
            for rank in replica.ranks:
                chosen = flags(site, replica, rank)
                assert chosen["allowed-media-domains"] == ["no-media-host.invalid"]
                assert not REFUSED.keys() & set(chosen)
                assert environment(site, replica, rank)["VLLM_MEDIA_URL_ALLOW_REDIRECTS"] == "0"
                expected = sorted(hosts) if replica.pool == first.pool else ["no-media-host.invalid"]
                assert flags(opened, replica, rank)["allowed-media-domains"] == expected


def test_no_two_servers_want_the_same_port_or_gpu_on_a_node() -> None:
    for preset in PRESETS:
        site, ports, gpus = context(preset), Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for replica in site.replicas:
            for rank in replica.ranks:
                chosen = flags(site, replica, rank)
                gpus.update((rank.node, gpu) for gpu in rank.gpus)
                if rank.node_rank == 0:
                    ports.update(
                        {(rank.node, chosen["port"]), (rank.node, chosen.get("master-port", 0))} - {(rank.node, 0)}
                    )
        assert max(ports.values()) == 1
        assert max(gpus.values()) == 1


def test_ranks_on_several_nodes_meet_at_their_head() -> None:
    several = [
        (preset, replica) for preset in PRESETS for replica in context(preset).replicas if len(replica.ranks) > 1
    ]
    assert several
    for preset, replica in several:
        site = context(preset)
        chosen = [flags(site, replica, rank) for rank in replica.ranks]
        assert {each["nnodes"] for each in chosen} == {len(replica.ranks)}
        assert [each["node-rank"] for each in chosen] == list(range(len(replica.ranks)))
        assert {each["master-addr"] for each in chosen} == {str(site.spec.node(replica.head).address)}
        assert len({each["master-port"] for each in chosen}) == 1
        assert ["headless" in each for each in chosen] == [False] + [True] * (len(replica.ranks) - 1)


def test_pools_over_several_nodes_with_the_same_head_meet_on_ports_of_their_own() -> None:
    site = context("superpod-b200")
    first = next(replica for replica in site.replicas if len(replica.ranks) > 1)
    twin = replace(first, pool="reasoning", port=first.port + 1)
    both = replace(site, replicas=(first, twin))
    ports = {flags(both, replica, replica.ranks[0])["master-port"] for replica in both.replicas}
    assert len(ports) == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_tensor_and_pipeline_sizes_are_the_gpus_of_all_ranks(preset: str) -> None:
    for replica in context(preset).replicas:
        pool = context(preset).pool(replica.pool)
        given = sum(len(rank.gpus) for rank in replica.ranks)
        assert given == pool.tensor_parallel_size * pool.pipeline_parallel_size


def test_parsers_of_the_catalogue_switch_on_tool_calls_and_reasoning() -> None:
    site = context("superpod-b200")
    by_pool = {each.pool: flags(site, each, each.ranks[0]) for each in site.replicas}
    assert by_pool["chat"]["tool-call-parser"] == "openai"
    assert by_pool["chat"]["reasoning-parser"] == "openai_gptoss"
    assert by_pool["reasoning"]["reasoning-parser"] == "deepseek_r1"
    assert {name for name, chosen in by_pool.items() if chosen.get("enable-auto-tool-choice")} == set(by_pool) - {
        "embeddings"
    }
    assert "tool-call-parser" not in by_pool["embeddings"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, ("xlam", True)),
        ({"tool_call_parser": "hermes"}, ("hermes", True)),
        ({"enable_auto_tool_choice": False}, ("xlam", None)),
        ({"tool_call_parser": "none"}, (None, None)),
    ],
)
def test_a_pool_overrides_the_parser_of_the_catalogue(chosen: dict[str, object], expected: tuple[object, ...]) -> None:
    site = with_pools("lab", {"tools": Tools.model_validate(chosen)})
    found = flags(site, site.replicas[0], site.replicas[0].ranks[0])
    assert (found.get("tool-call-parser"), found.get("enable-auto-tool-choice")) == expected


def test_draft_weights_are_on_the_nodes_and_in_the_flags() -> None:
    draft = Speculative.model_validate({"method": "eagle3", "num_speculative_tokens": 3, "model": "qwen-32b"})
    site = with_pools("bank-hybrid", {"speculative_config": draft})
    rank = site.replicas[0].ranks[0]
    chosen = json.loads(str(flags(site, site.replicas[0], rank)["speculative-config"]))
    assert chosen == {"method": "eagle3", "model": "/srv/sovctl/models/qwen-32b", "num_speculative_tokens": 3}
    assert "qwen-32b" in {folder.name for folder in folders(site, site.spec.node(rank.node))}


def with_pools(preset: str, more: dict[str, object]) -> Context:
    site = context(preset)
    pools = [pool.model_copy(update=more) for pool in site.spec.pools]
    return replace(site, spec=site.spec.model_copy(update={"pools": pools}))


@pytest.mark.parametrize(
    ("capabilities", "given", "expected"),
    [
        (None, None, None),
        (None, {"image": 2}, {"image": 2}),
        ([], None, {"image": 0, "video": 0, "audio": 0}),
        (["tools", "audio"], None, {"image": 0, "video": 0}),
        (["vision"], {"image": 2}, {"image": 2, "audio": 0}),
        (["tools", "vision", "audio"], None, None),
    ],
)
def test_media_that_the_site_does_not_permit_have_the_limit_0(
    capabilities: list[str] | None, given: dict[str, int] | None, expected: dict[str, int] | None
) -> None:
    found, replica, rank = _with_first_pool(capabilities=capabilities, limits=given)
    limits = flags(found, replica, rank).get("limit-mm-per-prompt")
    assert (None if limits is None else json.loads(str(limits))) == expected
    assert flags(found, replica, rank)["allowed-media-domains"] == ["no-media-host.invalid"]
    assert environment(found, replica, rank)["VLLM_MEDIA_URL_ALLOW_REDIRECTS"] == "0"


def test_a_server_of_text_only_needs_no_limits() -> None:
    found, replica, rank = _with_first_pool(capabilities=[], language_model_only=True)
    assert "limit-mm-per-prompt" not in flags(found, replica, rank)
    assert flags(found, replica, rank)["language-model-only"] is True


def test_limits_of_media_that_the_site_does_not_permit_are_refused() -> None:
    found, replica, _ = _with_first_pool(capabilities=["tools"], limits={"image": 0, "video": 1})
    site = found.spec.model_copy(update={"gateway": None})
    problems = check(site, load_catalog(), today=date(2026, 11, 29))
    index = [pool.name for pool in site.pools].index(replica.pool)
    messages = [each.message for each in problems if each.where == f"pools[{index}].multimodal.limit_mm_per_prompt"]
    assert messages == ["expected media of kinds that `capabilities` permits (vision, audio)"]


def _with_first_pool(
    *, capabilities: list[str] | None, limits: dict[str, int] | None = None, language_model_only: bool | None = None
) -> tuple[Context, Replica, Rank]:
    """The preset of labs with changes of its first pool, and a rank of this pool."""
    found = context("lab")
    replica = next(each for each in found.replicas if each.pool == found.spec.pools[0].name)
    media = Multimodal.model_validate({"limit_mm_per_prompt": limits, "language_model_only": language_model_only})
    first = found.spec.pools[0].model_copy(update={"capabilities": capabilities, "multimodal": media})
    spec = found.spec.model_copy(update={"pools": [first, *found.spec.pools[1:]]})
    return replace(found, spec=spec), replica, replica.ranks[0]
