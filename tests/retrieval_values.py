"""Values of the lab's site.yaml with retrieval on s1, and the echo model as embedding pool on n2."""

from __future__ import annotations

from typing import Any

import yaml
from strategies import EXAMPLES

POOL = {
    "name": "embeddings",
    "node_group": "gpu",
    "nodes": ["n2"],
    "tensor_parallel_size": 1,
    "max_model_len": 512,
    "max_num_seqs": 8,
    "kv_cache_memory_bytes": 67108864,
    "dtype": "float32",
    "enforce_eager": True,
    "port": 8001,
    "pooling": {"runner": "pooling", "convert": "embed", "pooler_config": {"pooling_type": "MEAN"}},
}


def add_retrieval(values: dict[str, Any]) -> None:
    """Add the service and the pool to the values of the lab's site.yaml."""
    values["pools"].append({**POOL, "model": values["models"][0]["name"]})
    values["retrieval"] = {
        "node": "s1",
        "embedding_pool": "embeddings",
        "collections": [{"name": "handbook"}],
        "shared_buffers_mib": 128,
        "maintenance_work_mem_mib": 64,
    }


def retrieval_values() -> dict[str, Any]:
    """Return the values of its site.yaml."""
    values: dict[str, Any] = yaml.safe_load((EXAMPLES / "lab" / "site.yaml").read_text())
    add_retrieval(values)
    return values
