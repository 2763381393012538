"""A site with a swap group: two pools that share two GPUs of each of two nodes in turns, and one pool beside them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import FOLDER

HOURS = {"days": "1-5", "start": "07:30", "end": "18:30"}
SHARED = {
    "node_group": "dgx",
    "replicas": 2,
    "tensor_parallel_size": 2,
    "max_model_len": 8192,
    "gpu_memory_utilization": 0.9,
    "swap_group": "assistants",
}


def values() -> dict[str, Any]:
    """Values of site.yaml: the nodes and models of preset bank-hybrid, without gateway and workload."""
    site: dict[str, Any] = deepcopy(yaml.safe_load((FOLDER / "bank-hybrid.yaml").read_text()))
    for name in ("gateway", "workload", "sizing", "monitoring"):
        site.pop(name, None)
    site["site"]["placement"] = "on-prem"
    site["perimeter"].pop("exceptions", None)
    site["node_groups"] = [each for each in site["node_groups"] if each["name"] == "dgx"]
    site["host"].pop("mounts", None)
    site["pools"] = [
        {**SHARED, "name": "chat", "model": "qwen-8b", "port": 8000, "awake_hours": [HOURS]},
        {**SHARED, "name": "code", "model": "qwen-32b", "port": 8001},
        {"name": "embed", "model": "embedder", "node_group": "dgx", "max_model_len": 8192, "port": 8002},
    ]
    return site


def swap_site(folder: Path) -> Site:
    """The site in a folder of its own, with invented files."""
    return site_of(folder, values())


def site_of(folder: Path, site_values: dict[str, Any]) -> Site:
    """A site with these values and invented files."""
    (folder / "access").mkdir(parents=True)
    (folder / "site.yaml").write_text(yaml.safe_dump(site_values, sort_keys=False))
    site = Site.open(folder / "site.yaml", touches_nodes=False)
    for name in ("site-apt-key.asc", "siem-ca.pem", "known_hosts", "id_ed25519"):
        (folder / "access" / name).write_text("invented\n")
    return site
