"""A site with an MPS group: two pools of one tenant on one GPU, and one pool with its own GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swap_site import site_of, values

from sovctl.engine.site.site import Site


def share(percentage: int, gib: int, *, tenant: str = "legal", group: str = "small") -> dict[str, Any]:
    """Values of `pools[].mps`."""
    return {"group": group, "tenant": tenant, "active_thread_percentage": percentage, "device_memory_gib": gib}


def shared_values() -> dict[str, Any]:
    """Values of site.yaml: the site of swap groups with other pools."""
    site = values()
    both = {
        "model": "embedder", "node_group": "dgx", "max_model_len": 8192, "gpu_memory_utilization": 0.3,
        "kv_cache_memory_bytes": 4 << 30,
    }  # fmt: skip
    site["pools"] = [
        {**both, "name": "embed", "port": 8000, "mps": share(40, 30)},
        {**both, "name": "rank", "port": 8010, "mps": share(60, 30)},
        {"name": "chat", "model": "qwen-8b", "node_group": "dgx", "max_model_len": 8192, "port": 8020},
    ]
    return site


def mps_site(folder: Path) -> Site:
    """The site in a folder of its own, with invented files."""
    return site_of(folder, shared_values())
