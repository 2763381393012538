"""What `vllm serve` is told: flags that it has, ports that are free, and ranks that find each other."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from strategies import PRESETS, context

from sovctl.engine.placement import Rank, Replica
from sovctl.engine.resources.context import render
from sovctl.engine.resources.pool import environment, flags, instance
from sovctl.engine.spec.lora import Adapter, Lora

ADAPTERS = Lora(adapters=[Adapter(name="letters", manifest_sha256="ab" * 32)], max_cpu_loras=2)
# Flags of vLLM 0.32.0 that we use, from `vllm serve --help=all` of that release (2026-11).
RECORDED = frozenset(
    [
        "model",
        "served-model-name",
        "host",
        "port",
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "max-model-len",
        "max-num-seqs",
        "max-num-queued-reqs",
        "kv-cache-dtype",
        "dtype",
        "quantization",
        "enforce-eager",
        "data-parallel-size",
        "enable-expert-parallel",
        "enable-lora",
        "lora-modules",
        "max-cpu-loras",
        "max-lora-rank",
        "max-loras",
        "kv-cache-memory-bytes",
        "gpu-memory-utilization",
        "nnodes",
        "node-rank",
        "master-addr",
        "master-port",
        "headless",
        "ssl-certfile",
        "ssl-keyfile",
        "ssl-ca-certs",
        "ssl-cert-reqs",
        "allowed-media-domains",
        "disable-uvicorn-access-log",
        "disable-fastapi-docs",
        "shutdown-timeout",
    ]
)
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
# Flags with which vLLM takes paths, tensors, templates and code from a request (0.32.0, `--help=all`, 2026-11).
OPEN = frozenset(
    [
        "allowed-local-media-path",
        "interleave-mm-strings",
        "trust-request-chat-template",
        "enable-prompt-embeds",
        "enable-mm-embeds",
        "trust-remote-code",
        "tool-server",
    ]
)


def ranks() -> list[tuple[str, Replica, Rank]]:
    return [
        (preset, replica, rank) for preset in PRESETS for replica in context(preset).replicas for rank in replica.ranks
    ]


def known_flags() -> frozenset[str]:
    if importlib.util.find_spec("vllm") is None:
        return RECORDED
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser())
    return frozenset(option.removeprefix("--") for action in parser._actions for option in action.option_strings)


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


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed here")
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
        variables = environment(context(preset), rank)
        assert (variables["HF_HUB_OFFLINE"], variables["VLLM_NO_USAGE_STATS"]) == ("1", "1")
        assert "VLLM_SERVER_DEV_MODE" not in variables


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
                assert not OPEN & set(chosen)
                assert environment(site, rank)["VLLM_MEDIA_URL_ALLOW_REDIRECTS"] == "0"
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
