"""Namespaces with Pod Security labels, their quota, and the admission policy of pods with locked memory."""

from __future__ import annotations

from collections import Counter

from .source import GATEWAY, RDMA_POOLS, Object, Source, metadata

LEVEL = "pod-security.kubernetes.io"
RESTRICTED, PRIVILEGED = "restricted", "privileged"
POLICY = "sovctl-locked-memory"
REASON = (
    "RDMA needs the capability IPC_LOCK. The Pod Security Standards `restricted` and `baseline` refuse it, so this "
    f"namespace has level `privileged`, and the ValidatingAdmissionPolicy {POLICY} refuses everything else that "
    "`baseline` refuses."
)
"""Source: kubernetes.io, "Pod Security Standards", Baseline, Capabilities."""

_RULES = {
    "hostNetwork is not permitted": "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
    "hostPID is not permitted": "!has(object.spec.hostPID) || !object.spec.hostPID",
    "hostIPC is not permitted": "!has(object.spec.hostIPC) || !object.spec.hostIPC",
    "hostPath volumes are not permitted": ("!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))"),
    "ephemeral containers are not permitted": (
        "!has(object.spec.ephemeralContainers) || size(object.spec.ephemeralContainers) == 0"
    ),
    "expected runAsNonRoot and the seccomp profile RuntimeDefault": (
        "has(object.spec.securityContext) && has(object.spec.securityContext.runAsNonRoot) && "
        "object.spec.securityContext.runAsNonRoot && has(object.spec.securityContext.seccompProfile) && "
        "object.spec.securityContext.seccompProfile.type == 'RuntimeDefault'"
    ),
    "privileged containers are not permitted": (
        "variables.containers.all(c, has(c.securityContext) && has(c.securityContext.allowPrivilegeEscalation) && "
        "!c.securityContext.allowPrivilegeEscalation && "
        "(!has(c.securityContext.privileged) || !c.securityContext.privileged) && "
        "(!has(c.securityContext.runAsNonRoot) || c.securityContext.runAsNonRoot) && "
        "(!has(c.securityContext.runAsUser) || c.securityContext.runAsUser != 0) && "
        "(!has(c.securityContext.seccompProfile) || c.securityContext.seccompProfile.type == 'RuntimeDefault') && "
        "!has(c.securityContext.procMount))"
    ),
    "expected capabilities without ALL, and IPC_LOCK at most": (
        "variables.containers.all(c, has(c.securityContext) && has(c.securityContext.capabilities) && "
        "has(c.securityContext.capabilities.drop) && 'ALL' in c.securityContext.capabilities.drop && "
        "(!has(c.securityContext.capabilities.add) || "
        "c.securityContext.capabilities.add.all(each, each == 'IPC_LOCK')))"
    ),
    "host ports are not permitted": (
        "variables.containers.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))"
    ),
}
"""Restrictions of `baseline` and `restricted` by the message of their refusal, as CEL over a pod."""


def namespaces(source: Source) -> list[Object]:
    """Return the namespaces, their quotas, and the admission policy if pods lock memory."""
    names = [*source.pool_namespaces, *([GATEWAY] if source.context.spec.gateway else [])]
    found = [namespace_object(name) for name in names]
    found += [_quota(source, name) for name in source.pool_namespaces]
    return found + (_admission_policy() if RDMA_POOLS in names else [])


def namespace_object(name: str) -> Object:
    """Return a namespace with the labels of its Pod Security Standard."""
    level = PRIVILEGED if name == RDMA_POOLS else RESTRICTED
    labels = {f"{LEVEL}/{mode}": level for mode in ("enforce", "audit", "warn")}
    made = metadata(name, labels=labels)
    if level == PRIVILEGED:
        made["annotations"] = {"sovctl/reason": REASON}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": made}


def _quota(source: Source, namespace: str) -> Object:
    """Return the limits of a namespace: GPUs and MIG instances of its pools at their largest number of replicas."""
    pools = [pool for pool in source.pools if source.namespace(pool) == namespace]
    gpus: Counter[str] = Counter()
    for pool in pools:
        needed = source.max_replicas(pool) * source.nnodes(pool) * source.gpus_per_node(pool)
        gpus[f"requests.{source.gpu_resource(pool)}"] += needed
    gpus.setdefault("requests.nvidia.com/gpu", 0)  # a namespace of MIG pools has no whole GPU
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata("sovctl", namespace),
        "spec": {
            "hard": {
                **{name: str(count) for name, count in sorted(gpus.items())},
                "services.loadbalancers": "0",
                "services.nodeports": "0",
            }
        },
    }


def _admission_policy() -> list[Object]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    rule["resources"] = ["pods", "pods/ephemeralcontainers"]
    containers = "object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])"
    policy: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(POLICY),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "variables": [{"name": "containers", "expression": containers}],
            "validations": [{"expression": expression, "message": message} for message, expression in _RULES.items()],
        },
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": RDMA_POOLS}}
    binding: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(POLICY),
        "spec": {
            "policyName": POLICY,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    return [policy, binding]
