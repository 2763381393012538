"""Rules about transcription pools. Pure functions of one site.

Such a pool decodes audio in the processes of its API server, so it has its own cores, and no other pool of its nodes
uses them. `check_gpus` of `pools` gives every pool its own GPUs or MIG slices.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.errors import Problem

from ...placement import try_assign_gpus
from ...spec import Pool
from ...spec.serving.cpu_list import cpus_of
from .rule import SiteUnderValidation

MAX_WHISPER_TOKENS = 448
"""Longest text of a window; openai/whisper, model.py, `n_text_ctx` (read 2026-11)."""


def check_own_cores(site: SiteUnderValidation) -> Iterator[Problem]:
    """Require cores of their own for a transcription pool and its neighbours on a node."""
    nodes: dict[str, set[str]] = {}
    for replica in try_assign_gpus(site.spec, site.catalog)[0]:
        nodes.setdefault(replica.pool, set()).update(rank.node for rank in replica.ranks)
    pools = list(enumerate(site.spec.pools))
    reported: set[int] = set()
    for _, speech in pools:
        if not _transcribes(site, speech):
            continue
        for index, other in pools:
            shared = sorted(nodes.get(speech.name, set()) & nodes.get(other.name, set()))
            if other is speech or not shared:
                continue
            for number, pool in ((index, other), (site.spec.pools.index(speech), speech)):
                if pool.cpu_affinity is None and number not in reported:
                    reported.add(number)
                    yield Problem(
                        f"expected cores of its own on node {shared[0]}, which the transcription pool "
                        f"`{speech.name}` shares with `{other.name}`, got all cores",
                        where=f"pools[{number}].cpu_affinity",
                        hint="set cores such as 0-7, or place the pools on different nodes",
                    )
            yield from _overlap(speech, other, shared[0], f"pools[{index}].cpu_affinity")


def _overlap(speech: Pool, other: Pool, node: str, where: str) -> Iterator[Problem]:
    if speech.cpu_affinity is None or other.cpu_affinity is None:
        return
    if common := sorted(cpus_of(speech.cpu_affinity) & cpus_of(other.cpu_affinity)):
        yield Problem(
            f"expected other cores than those of the transcription pool `{speech.name}` on node {node}, got core "
            f"{common[0]} in both",
            where=where,
            hint="give each of the two pools its own cores",
        )


def check_transcription(site: SiteUnderValidation) -> Iterator[Problem]:
    """Refuse settings of a transcription pool that its engine's packages or its model do not have."""
    pair = next((pool.name for pool in site.spec.pools if pool.prefill is not None), None)
    for index, pool in enumerate(site.spec.pools):
        model = site.model_of(pool)
        if model is None or model.role != "asr":
            continue
        if pair is not None:
            yield Problem(
                f"expected no pair for prefill at a site with a transcription pool, got that of `{pair}`",
                where=f"pools[{index}].model",
                hint="no lock has both NIXL and the decoders of audio: use two sites, or remove `prefill`",
            )
        if model.arch.audio_positions and pool.max_model_len > MAX_WHISPER_TOKENS:
            yield Problem(
                f"expected at most the {MAX_WHISPER_TOKENS} tokens of {model.id}, got {pool.max_model_len}",
                where=f"pools[{index}].max_model_len",
                hint=f"use {MAX_WHISPER_TOKENS}",
            )
        for field in ("pipeline_parallel_size", "data_parallel_size", "nodes_per_stage"):
            if getattr(pool, field) != 1:
                yield Problem(
                    f"expected 1 for a transcription pool, got {getattr(pool, field)}",
                    where=f"pools[{index}].{field}",
                    hint="use `replicas` for more throughput",
                )


def check_realtime(site: SiteUnderValidation) -> Iterator[Problem]:
    """Require a family with realtime transcription, and a check of the text on each route of the pool."""
    for index, pool in enumerate(site.spec.pools):
        if not pool.realtime:
            continue
        model = site.model_of(pool)
        if model is not None and model.realtime is None:
            known = ", ".join(each.id for each in site.catalog.models.values() if each.realtime is not None)
            yield Problem(
                f"expected false for {model.id}, whose family has no realtime transcription in vLLM, got true",
                where=f"pools[{index}].realtime",
                hint=f"models with it: {known}",
            )
    realtime = {name for name, pool in site.spec.served().items() if pool.realtime}
    for number, route in enumerate(site.spec.gateway.routes if site.spec.gateway is not None else ()):
        served = realtime.intersection((route.pool, *route.fallbacks))
        if served and (route.release is None or route.release.identifiers is None):
            yield Problem(
                f"expected `identifiers`, because pool `{min(served)}` serves realtime transcription and names are "
                "detected before a text is sent, got none",
                where=f"gateway.routes[{number}].release",
                hint="add `release: {identifiers: {default: mask}}`",
            )


def _transcribes(site: SiteUnderValidation, pool: Pool) -> bool:
    model = site.model_of(pool)
    return model is not None and model.role == "asr"
