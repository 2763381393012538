"""MIG in an export: golden objects of the GPU operator, resources of pods, and the definition of ClusterPolicy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from custom_schemas import DEFINITIONS, strict_schema
from export_sites import IMAGES, exported, image_table, of_kind, pods
from swap_site import values

from sovctl.engine.export.read import read_source
from sovctl.engine.export.source import Target
from sovctl.support.errors import SpecError

GOLDEN = Path(__file__).parent / "golden" / "mig.yaml"
LAYOUT = [
    {"devices": [0, 1], "mig_devices": {"3g.40gb": 2}},
    {"devices": [2], "mig_devices": {"4g.40gb": 1, "1g.10gb": 3}},
]


def site(layout: list[dict[str, Any]] = LAYOUT) -> str:
    """A site with divided GPUs: two pools on instances, and one on whole GPUs."""
    found = values()
    group = next(each for each in found["node_groups"] if each["name"] == "dgx")
    group["mig_layout"] = layout
    base = {"node_group": "dgx", "max_model_len": 8192, "kv_cache_memory_bytes": 1 << 30}
    found["pools"] = [
        {**base, "name": "legal", "model": "embedder", "port": 8000, "mig_profile": "3g.40gb", "replicas": 2},
        {**base, "name": "small", "model": "embedder", "port": 8010, "mig_profile": "1g.10gb"},
        {"node_group": "dgx", "name": "chat", "model": "qwen-8b", "max_model_len": 8192, "port": 8020,
         "tensor_parallel_size": 2},
    ]  # fmt: skip
    return yaml.safe_dump(found, sort_keys=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return exported(tmp_path_factory.mktemp("mig"), site())


def test_the_objects_of_the_operator_are_as_recorded(files: dict[str, str]) -> None:
    assert files["operators.yaml"] == GOLDEN.read_text()


def test_pods_request_instances_or_whole_gpus(files: dict[str, str]) -> None:
    limits = [pod["containers"][0]["resources"]["limits"] for _, pod in pods(files) if "nvidia" in str(pod)]
    assert limits == [{"nvidia.com/gpu": 2}, {"nvidia.com/mig-3g.40gb": 1}, {"nvidia.com/mig-1g.10gb": 1}]
    for _, pod in pods(files):
        names = {each["name"] for each in pod["containers"][0]["env"]}
        assert not names & {"CUDA_VISIBLE_DEVICES", "SOVCTL_MIG_INSTANCE"}
    [quota] = of_kind(files, "ResourceQuota")
    assert {name: count for name, count in quota["spec"]["hard"].items() if "nvidia" in name} == {
        "requests.nvidia.com/gpu": "2",
        "requests.nvidia.com/mig-1g.10gb": "1",
        "requests.nvidia.com/mig-3g.40gb": "2",
    }


def test_the_folder_names_the_label_and_omits_no_layout(files: dict[str, str]) -> None:
    assert "Label nvidia.com/mig.config=dgx on nodes dgx-1, dgx-2" in files["README.txt"]
    assert "mig" not in files["not-exported.md"]


def test_the_configuration_divides_every_gpu_of_site_yaml_and_no_other(files: dict[str, str]) -> None:
    [config] = [each for each in of_kind(files, "ConfigMap") if each["metadata"]["name"] == "sovctl-mig"]
    found = yaml.safe_load(config["data"]["config.yaml"])
    assert found["version"] == "v1"
    entries = found["mig-configs"]["dgx"]
    assert sorted(gpu for each in entries for gpu in each["devices"]) == list(range(8))
    assert {tuple(each["devices"]): each.get("mig-devices") for each in entries} == {
        (0, 1): {"3g.40gb": 2},
        (2,): {"1g.10gb": 3, "4g.40gb": 1},
        (3, 4, 5, 6, 7): None,
    }
    assert all(each["mig-enabled"] == ("mig-devices" in each) for each in entries)
    assert found["mig-configs"]["all-disabled"] == [{"devices": "all", "mig-enabled": False}]


def test_a_site_with_instances_needs_the_image_of_the_manager(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(site())
    table = image_table(tmp_path, {name: image for name, image in IMAGES.items() if name != "mig-manager"})
    with pytest.raises(SpecError) as caught:
        read_source(Target.KUBERNETES, tmp_path / "site.yaml", table, serving="lws", lock=None)
    assert "missing image mig-manager" in str(caught.value.problems)


def test_ray_states_that_it_requests_whole_gpus(tmp_path: Path) -> None:
    assert "`node_groups[].mig`" in exported(tmp_path, site(), Target.RAY)["not-exported.md"]


@pytest.mark.shared
@pytest.mark.skipif(not DEFINITIONS.exists(), reason="the definitions are not here")
def test_the_policy_is_strictly_valid_and_another_default_is_not(files: dict[str, str]) -> None:
    [policy] = of_kind(files, "ClusterPolicy")
    validator = jsonschema.Draft202012Validator(strict_schema(policy["apiVersion"], policy["kind"]))
    assert list(validator.iter_errors(policy)) == []
    policy["spec"]["migManager"]["config"]["default"] = "dgx"
    assert len(list(validator.iter_errors(policy))) == 1
    policy["spec"]["migManager"]["config"]["default"] = "all-disabled"
    policy["spec"]["mig"]["strategy"] = "each"
    assert len(list(validator.iter_errors(policy))) == 1
