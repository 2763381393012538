"""`sovctl export`: same bytes twice, digests only, restricted pods, and one place for the flags of vLLM."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from export_sites import IMAGES, PRESETS, export, exported, image_table, objects, of_kind, pods, site_text

from sovctl.engine.export import private_files
from sovctl.engine.export.folder import write_folder
from sovctl.engine.export.read import read_source
from sovctl.engine.export.source import Target
from sovctl.engine.resources.serving.command_line import arguments
from sovctl.engine.resources.serving.flags import flags
from sovctl.engine.spec import SiteSpec
from sovctl.support.errors import InputError, SpecError


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("target", Target)
def test_two_exports_have_the_same_bytes(preset: str, target: Target, tmp_path: Path) -> None:
    assert export(tmp_path, site_text(preset), target) == export(tmp_path, site_text(preset), target)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("target", "serving"), [("kubernetes", "lws"), ("kubernetes", "kserve"), ("ray", "lws")])
def test_every_container_is_restricted_and_has_an_image_by_digest(
    preset: str, target: str, serving: str, tmp_path: Path
) -> None:
    files = exported(tmp_path, site_text(preset), Target(target), serving)
    levels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in of_kind(files, "Namespace")}
    found = list(pods(files))
    assert found
    for namespace, spec in found:
        locks_memory = namespace == "sovctl-pools-rdma"
        level = levels[namespace]["pod-security.kubernetes.io/enforce"]
        assert level == ("privileged" if locks_memory else "restricted")
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert all("hostPath" not in each for each in spec["volumes"])
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["image"] in IMAGES.values()
            assert not container["securityContext"]["allowPrivilegeEscalation"]
            added = ["IPC_LOCK"] if locks_memory else None
            assert container["securityContext"]["capabilities"].get("add") == added
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_namespace_denies_all_and_no_policy_has_an_empty_peer(preset: str, tmp_path: Path) -> None:
    files = exported(tmp_path, site_text(preset))
    policies = of_kind(files, "NetworkPolicy")
    for namespace in of_kind(files, "Namespace"):
        deny = [
            each["spec"]
            for each in policies
            if each["metadata"] == {"name": "deny-all", "namespace": namespace["metadata"]["name"]}
        ]
        assert deny == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]
    for each in policies:
        for rule in [*each["spec"].get("ingress", []), *each["spec"].get("egress", [])]:
            assert rule.get("from") or rule.get("to")


def test_arguments_of_a_server_are_those_of_its_unit(tmp_path: Path) -> None:
    files = export(tmp_path, site_text("superpod-b200"), Target.KUBERNETES)
    source = read_source(Target.KUBERNETES, tmp_path / "site.yaml", tmp_path / "images.yaml", serving="lws", lock=None)
    group = of_kind(files, "LeaderWorkerSet")[0]["spec"]["leaderWorkerTemplate"]
    pool = source.context.pool("long-context")
    replica = source.replica(pool)
    assert (group["size"], group["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")
    for rank, template in zip(replica.ranks, (group["leaderTemplate"], group["workerTemplate"]), strict=True):
        on_node = flags(source.context, replica, rank)
        of_pod = {
            "host": "0.0.0.0",
            "nnodes": "$(LWS_GROUP_SIZE)",
            "node-rank": ["0", "$(LWS_WORKER_INDEX)"][rank.node_rank],
            "master-addr": "$(LWS_LEADER_ADDRESS)",
        }
        assert template["spec"]["containers"][0]["args"] == arguments({**on_node, **of_pod})


def test_another_tensor_parallel_size_changes_only_its_lines(tmp_path: Path) -> None:
    text = site_text("bank-hybrid").split("\nworkload:")[0]  # without sizing, which computes other bounds
    before = exported(tmp_path, text)
    changed = text.replace("tensor_parallel_size: 4", "tensor_parallel_size: 2", 1)
    assert changed != text
    after = exported(tmp_path, changed)
    difference = {
        name: [
            line
            for line in difflib.unified_diff(before[name].splitlines(), after[name].splitlines(), n=0, lineterm="")
            if re.match(r"[-+](?![-+])", line)
        ]
        for name in before
        if before[name] != after[name]
    }
    assert difference["namespaces.yaml"] == ["-    requests.nvidia.com/gpu: '18'", "+    requests.nvidia.com/gpu: '14'"]
    assert sorted(difference) == ["namespaces.yaml", "pool-assistant.yaml"]
    assert [line.split() for line in difference["pool-assistant.yaml"]] == [
        ["-", "-", "'4'"],
        ["+", "-", "'2'"],
        ["-", "nvidia.com/gpu:", "4"],
        ["+", "nvidia.com/gpu:", "2"],
        ["-", "nvidia.com/gpu:", "4"],
        ["+", "nvidia.com/gpu:", "2"],
    ]


def test_refuses_data_parallel_ranks_on_several_nodes(tmp_path: Path) -> None:
    text = site_text("superpod-b200").split("\nworkload:")[0]
    changed = text.replace(
        "tensor_parallel_size: 8\n    pipeline_parallel_size: 2",
        "data_parallel_size: 16\n    nodes_per_stage: 2\n    enable_expert_parallel: true",
        1,
    ).replace("    model: llama-405b\n", "    model: deepseek-r1\n", 1)
    assert changed != text
    with pytest.raises(InputError, match="expected data-parallel ranks on one node for an export, got 2 nodes"):
        export(tmp_path, changed, Target.KUBERNETES, "lws")


def test_a_text_of_site_yaml_is_not_expanded_by_kubernetes(tmp_path: Path) -> None:
    text = site_text("bank-hybrid").replace(
        "    kv_cache_dtype: fp8\n",
        "    kv_cache_dtype: fp8\n    api_server: {default_chat_template_kwargs: {note: $(HOME)}}\n",
        1,
    )
    args = of_kind(exported(tmp_path, text), "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert '{"note":"$$(HOME)"}' in args


def test_the_gateway_names_services_and_secrets_are_references(tmp_path: Path) -> None:
    files = exported(tmp_path, site_text("bank-hybrid"))
    assert not of_kind(files, "Secret")
    settings = yaml.safe_load(next(yaml.safe_load_all(files["gateway.yaml"]))["data"]["gateway.yaml"])
    urls = [each["base_urls"] for each in settings["upstreams"] if each["kind"] == "pool"]
    assert urls[0] == ["https://assistant-api.sovctl-pools.svc:8000/v1"]
    for name in ("cloud-sovereign-cloud.key", "gateway-ledger.key", "vault.kek"):
        assert name in files["README.txt"]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ({**IMAGES, "vllm": "registry.example/vllm:0.32.0"}, "expected REGISTRY/NAME@sha256:DIGEST"),
        ({**IMAGES, "vllm": "vllm@sha256:" + "0" * 64}, "expected REGISTRY/NAME@sha256:DIGEST"),
        ({**IMAGES, "vlm": IMAGES["vllm"]}, "unknown image vlm"),
        ({key: value for key, value in IMAGES.items() if key != "gateway"}, "missing image gateway"),
    ],
    ids=["a tag", "without registry", "unknown", "missing"],
)
def test_refuses_an_image_table(images: dict[str, str], message: str, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(site_text("bank-hybrid"))
    with pytest.raises(SpecError) as caught:
        read_source(Target.KUBERNETES, site, image_table(tmp_path, images), serving="lws", lock=None)
    assert [each.message for each in caught.value.problems if message in each.message]


def test_refuses_the_engine_of_the_lab(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(site_text("ha"))
    with pytest.raises(InputError, match="vllm-cpu"):
        read_source(Target.KUBERNETES, site, image_table(tmp_path), serving="lws", lock=None)


def test_replaces_an_export_and_no_other_folder(tmp_path: Path) -> None:
    folder = tmp_path / "parent" / "out"
    files = exported(tmp_path, site_text("bank-hybrid"))
    write_folder(folder, files)
    fewer = exported(tmp_path, site_text("bank-hybrid"), Target.RAY)
    write_folder(folder, fewer)
    assert {path.name: path.read_text() for path in folder.iterdir()} == fewer
    (folder / "own-patch.yaml").write_text("a: 1\n")
    with pytest.raises(InputError, match="did not write it"):
        write_folder(folder, files)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["out"]


def test_every_file_of_the_folder_is_in_the_kustomization_or_a_text(tmp_path: Path) -> None:
    for target in Target:
        files = exported(tmp_path, site_text("superpod-b200"), target)
        listed = yaml.safe_load(files["kustomization.yaml"])["resources"]
        assert {*listed, "kustomization.yaml", "README.txt", "not-exported.md"} == files.keys()
        assert "Not run" in files["README.txt"]


def test_the_init_container_makes_secrets_and_data_private(tmp_path: Path) -> None:
    secrets, data = tmp_path / "secrets", tmp_path / "data"
    (secrets / "..data").mkdir(parents=True)
    (secrets / "vault.kek").write_text("invented\n")
    (secrets / "vault.kek").chmod(0o440)
    (data / "ledger").mkdir(parents=True)
    (data / "vault.db").write_text("")
    for path in (data, data / "ledger", data / "vault.db"):
        path.chmod(0o2770 if path.is_dir() else 0o660)
    for _ in range(2):  # a container restarts
        command = [sys.executable, private_files.__file__, str(secrets), str(tmp_path / "private"), str(data)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": ""})
    modes = {path.name: oct(path.stat().st_mode & 0o7777) for path in (tmp_path / "private", data, *data.iterdir())}
    assert modes == {"private": "0o700", "data": "0o700", "ledger": "0o700", "vault.db": "0o600"}
    copied = list((tmp_path / "private").iterdir())
    assert [(path.name, oct(path.stat().st_mode & 0o7777)) for path in copied] == [("vault.kek", "0o600")]


def test_a_service_selects_the_pods_of_its_pool_only(tmp_path: Path) -> None:
    files = exported(tmp_path, site_text("superpod-b200"))
    for service in of_kind(files, "Service"):
        selector = service["spec"]["selector"].items()
        templates = [
            each for each in objects(files) if each["kind"] in ("Deployment", "LeaderWorkerSet", "StatefulSet")
        ]
        served = [each["metadata"]["name"] for each in templates if selector <= each["metadata"]["labels"].items()]
        assert served == [service["metadata"]["name"].removesuffix("-api")]


def test_every_section_of_site_yaml_is_exported_or_named(tmp_path: Path) -> None:
    exported_sections = {"version", "site", "pools", "sizing", "catalog_file", "calibration_file"}
    absent = {"fabric", "mirror", "retrieval", "roce", "scaling", "unmanaged_allowed"}  # of this preset
    for target in Target:
        text = exported(tmp_path, site_text("bank-hybrid"), target)["not-exported.md"]
        named = set(re.findall(r"^\| `(\w+)", text, re.MULTILINE))
        assert SiteSpec.model_fields.keys() - exported_sections - absent <= named


def test_a_site_with_a_fabric_and_pinned_gpus_names_them(tmp_path: Path) -> None:
    text = site_text("bank-hybrid").replace("    replicas: 4\n", "    replicas: 4\n    gpus: [0, 1]\n", 1)
    text = text.replace("\nsoftware:", "\nfabric: {probe_node: dgx-1}\n\nsoftware:")
    omitted = exported(tmp_path, text)["not-exported.md"]
    assert "| `fabric` |" in omitted
    assert "| `pools[triage].gpus` |" in omitted
