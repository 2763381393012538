"""Files of an export by name.

files = kubernetes(source)
files["pool-chat.yaml"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sovctl.support.errors import InputError

from ..catalog.engines import ENGINES
from ..catalog.engines.vllm import VLLM
from ..spec import SiteSpec
from . import mig, operators, ray
from .folder import MARK, README, as_yaml, kustomization
from .gateway import gateway_objects, secret_files
from .namespaces import namespace_object, namespaces
from .network import deny_all, name_servers, network_policies
from .not_exported import as_markdown, omissions
from .pools import pool_objects
from .source import GATEWAY, MODELS_CLAIM, Object, Source, Target

STATUS = "Accepted by the schemas of its API versions. Not run: no cluster has executed these objects."


def needed_images(source: Source, target: Target) -> list[str]:
    """Return the names of the images that an export uses."""
    if target is Target.RAY:
        return ["ray-llm"]
    names = ["vllm", *(["gateway"] if source.context.spec.gateway else [])]
    names += operators.GPU_IMAGES if operators.has_gpus(source) else ()
    names += [mig.IMAGE] if mig.divided_groups(source) else []
    return [*names, *(operators.RDMA_IMAGES if operators.needs_rdma(source) else ())]


def require_exportable(spec: SiteSpec) -> None:
    """Refuse a site whose servers have no form in a cluster.

    Raises:
        InputError: the site has no pool, or the engine of the lab.
    """
    if not spec.pools:
        raise InputError("the site has no pool", where="pools", hint="add a pool, or run `sovctl apply` instead")
    for index, pool in enumerate(spec.pools):
        if pool.prefill is not None:
            raise InputError(
                f"expected no pair of pools, got `{pool.name}` with prefill by `{pool.prefill.pool}`, which has no"
                " manifests yet",
                where=f"pools[{index}].prefill",
                hint="serve these pools with `sovctl apply`, or remove `prefill`",
            )
    engine = spec.software.engine
    if engine != VLLM.name:
        reason = "which runs in the lab only" if ENGINES[engine].lab_only else "which has no manifests yet"
        raise InputError(
            f"expected engine {VLLM.name}, got {engine}, {reason}",
            where="software.engine",
            hint="export a site with GPUs",
        )


def kubernetes(source: Source) -> dict[str, str]:
    """Return a kustomize folder with all objects of the site."""
    objects: dict[str, list[Object]] = {
        "namespaces.yaml": namespaces(source),
        "network.yaml": network_policies(source),
        "operators.yaml": operators.operator_objects(source),
        **{f"pool-{pool.name}.yaml": pool_objects(source, pool) for pool in source.pools},
        "gateway.yaml": gateway_objects(source),
    }
    return _files(source, Target.KUBERNETES, objects, _needed_by_kubernetes(source))


def ray_cluster(source: Source) -> dict[str, str]:
    """Return a kustomize folder with the RayService of the site."""
    objects = {
        "namespaces.yaml": [namespace_object(ray.NAMESPACE)],
        "network.yaml": [deny_all(ray.NAMESPACE), name_servers(ray.NAMESPACE), ray.cluster_policy()],
        "ray-service.yaml": [ray.ray_service(source)],
    }
    engine_version = source.context.spec.software.engine_version
    needed = [
        f"Secret {ray.NAMESPACE}/{ray.TOKEN_SECRET}: auth_token",
        f"Secret {ray.NAMESPACE}/{ray.TLS_SECRET} (kubernetes.io/tls): tls.crt, tls.key, ca.crt",
        f"PersistentVolumeClaim {ray.NAMESPACE}/{MODELS_CLAIM}:{_model_folders(source)}",
        f"Image ray-llm: Ray {ray.VERSION} requires vLLM {ray.ENGINE}; site.yaml has {engine_version}",
    ]
    return _files(source, Target.RAY, objects, needed)


WRITERS: Mapping[Target, Callable[[Source], dict[str, str]]] = {
    Target.KUBERNETES: kubernetes,
    Target.RAY: ray_cluster,
}
"""Renderers of folders."""


def _needed_by_kubernetes(source: Source) -> list[str]:
    found = [f"Nodes: each name in site.yaml is the label kubernetes.io/hostname of a node ({_node_names(source)})"]
    found += [
        f"PersistentVolumeClaim {each}/{MODELS_CLAIM}:{_model_folders(source)}" for each in source.pool_namespaces
    ]
    for pool in source.pools:
        where = f"{source.namespace(pool)}/{pool.name}-tls"
        found.append(f"Secret {where} (kubernetes.io/tls): tls.crt for {source.host(pool)}, tls.key, ca.crt")
        picker = f"{source.namespace(pool)}/{pool.name}-endpoint-picker"
        found.append(f"Endpoint picker {picker} with label endpoint-picker={pool.name}, for the InferencePool only")
    found += [f"Secret {GATEWAY}/{name}: {', '.join(files)}" for name, files in secret_files(source).items() if files]
    found += [f"Label {mig.LABEL}={group.name} on nodes {names}" for group, names in mig.labelled_nodes(source)]
    return [*found, "Controllers of the custom kinds: LeaderWorkerSet, KEDA, InferencePool, GPU and network operator"]


def _node_names(source: Source) -> str:
    return ", ".join(node.name for _, node in source.context.spec.nodes())


def _model_folders(source: Source) -> str:
    """Return the folders of models and adapters, with the SHA-256 of their MANIFEST, one per line."""
    spec = source.context.spec
    digests = {model.name: model.manifest_sha256 for model in spec.models}
    digests |= {adapter.name: adapter.manifest_sha256 for pool in spec.pools for adapter in pool.adapters}
    return "".join(f"\n    {sha256}  {name}/MANIFEST" for name, sha256 in digests.items())


def _files(source: Source, target: Target, objects: Mapping[str, list[Object]], needed: list[str]) -> dict[str, str]:
    header = f"# Written by sovctl export {target.value} from site.yaml. Do not edit: add a kustomize overlay.\n"
    found = {name: header + as_yaml(each) for name, each in objects.items() if each}
    found["kustomization.yaml"] = header + kustomization(sorted(found))
    found["not-exported.md"] = as_markdown(omissions(source, target))
    lock = f"Lock: {source.lock_sha256}\n" if source.lock_sha256 else ""
    found[README] = (
        f"{MARK} {target.value}` from the site {source.context.spec.site.name}.\n{STATUS}\n{lock}\n"
        "Check and apply: kubectl apply --server-side --dry-run=server -k . ; then without --dry-run.\n"
        "Parts of site.yaml that are not here: not-exported.md\n\nCreate before, after namespaces.yaml:\n"
        + "".join(f"- {each}\n" for each in needed)
        + "\nFiles:\n"
        + "".join(f"{name}\n" for name in sorted(found))
    )
    return dict(sorted(found.items()))
