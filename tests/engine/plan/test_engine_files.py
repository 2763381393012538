"""Files of a pool on a node, by engine, as golden files. SGLang and TensorRT-LLM were never run.

After an intended change, `write()` writes them again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from strategies import context

from sovctl.engine.catalog.engines import ENGINES, EngineCapability
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.pool import instance, variables_of
from sovctl.engine.spec import Pool

CASES = Path(__file__).parents[2] / "cases" / "engines"
NAMES = ("vllm", "llama.cpp", "sglang", "tensorrt-llm")
TEMPLATES = ("pool.yaml.j2", "unit.service.j2", "proxy.service.j2", "nginx.conf.j2")


def site(engine: str) -> Context:
    """Return the preset superpod-b200, or the lab of llama.cpp, with an engine and only the fields that it has."""
    if engine == "llama.cpp":
        return context("llama-cpp")
    made = context("superpod-b200")
    chosen = made.spec.software.model_copy(update={"engine": engine})
    names = ("name", "model", "node_group", "nodes", "replicas", "tensor_parallel_size", "pipeline_parallel_size")
    names += ("gpus", "max_model_len", "max_num_seqs", "port")
    pools = [Pool(**{name: getattr(pool, name) for name in names}) for pool in made.spec.pools]
    if engine == "vllm":
        return made
    return replace(made, spec=made.spec.model_copy(update={"software": chosen, "pools": pools}))


def files(engine: str) -> str:
    """Return the files of the last rank of the first replica with the most nodes that the engine supports."""
    made = site(engine)
    supported = EngineCapability.MULTI_NODE in ENGINES[engine].capabilities
    replicas = [each for each in made.replicas if supported or len(each.ranks) == 1]
    found = max(replicas, key=lambda each: len(each.ranks))
    node = made.spec.node(found.ranks[0].node)
    item = {"name": instance(found), **variables_of(made, node, found)}
    names = TEMPLATES if item["proxy"] else TEMPLATES[:2]
    environment = "".join(f"{name}={value}\n" for name, value in item["environment"].items())
    texts = [f"==> {name}\n{render('pool', name, item=item)}" for name in names]
    return "".join([f"not run: {ENGINES[engine].not_run or 'no'}\n", *texts, f"==> environment\n{environment}"])


def write() -> None:
    """Write the golden files."""
    for engine in NAMES:
        (CASES / f"{engine}.txt").write_text(files(engine))


@pytest.mark.parametrize("engine", NAMES)
def test_files_are_those_of_the_golden_file(engine: str) -> None:
    assert files(engine) == (CASES / f"{engine}.txt").read_text()
