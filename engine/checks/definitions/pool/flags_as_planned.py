"""pool.flags-as-planned: the running server was started with exactly the flags, variables and engine of the plan.

The flags come from the arguments of the process and from the API of the server. The file of flags is
compared too, because the next start reads it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ....catalog.engines import ENGINES
from ....catalog.engines.vllm import VLLM
from ....facts.processes import parse_processes, probe_command
from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....resources.credential import TLS
from ....resources.serving.command_line import added_variables, given_flags, planned_flags
from ....resources.serving.environment import MIG_INSTANCE
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections
from ...probes.commands import python_command, show_units
from ._process import unit_failure
from ._replicas import Expected, replicas_on

KV_CACHE_LABELS = {
    "gpu-memory-utilization": "gpu_memory_utilization",
    "kv-cache-memory-bytes": "kv_cache_memory_bytes",
    "enable-prefix-caching": "enable_prefix_caching",
    "prefix-caching-hash-algo": "prefix_caching_hash_algo",
}
"""Labels of vLLM's metric `vllm:cache_config_info` by flag. Source: vLLM 0.32.0, config/cache.py, `metrics_info`."""


class FlagsAsPlanned(Check[Expected]):
    id, version, method = "pool.flags-as-planned", 2, Method.EXAMINE
    title = "the running server has exactly the planned flags, variables and engine"
    controls = ("cm-2", "cm-6")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which restart the server with the planned flags"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every replica with a rank on the node."""
        return replicas_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print the unit, its process, the file of flags, and on the first rank the settings that the API returns."""
        config = shlex.quote(expected.config)
        commands = {
            "unit": show_units(expected.unit),
            "process": shlex.join(probe_command([expected.unit])),
            "config": f"sed -e 's/^\\( *api[-_]key *:\\).*/\\1 (secret)/' {config}",
        }
        if expected.serves_api:
            identity = (f"{TLS}/ca.pem", f"{TLS}/node.pem", f"{TLS}/node.key")
            commands["api"] = python_command("server_api", expected.address, str(expected.port), *identity)
        return Probe(commands, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if process, API and file have the planned values."""
        sections = parse_sections(output)
        if failure := unit_failure(sections, expected.unit):
            return failure
        findings = [
            *_process_findings(sections.text("process"), expected),
            *_file_findings(_parse_flags(sections.text("config")), expected.flags),
            *(_api_findings(sections, expected) if expected.serves_api else ()),
        ]
        return worst(findings, otherwise=f"expected {len(expected.flags)} planned flags, got all of them")


def _process_findings(text: str, expected: Expected) -> Iterator[Judgement]:
    process = parse_processes(text).get(expected.unit)
    if process is None:
        yield unknown(f"a process of {expected.unit}", "none")
        return
    engine = ENGINES[expected.engine_name]
    given = given_flags(process.argv, engine)
    if given is None:
        yield failed(f"`{engine.program}` as the unit's process", excerpt(" ".join(process.argv)))
        return
    planned = planned_flags(expected.flags, engine)
    for flag in planned:
        if flag not in given:
            yield failed(f"{flag} in the running process", _same_name(flag, given))
    names = {flag.partition(" ")[0] for flag in planned}
    yield from (failed("only planned flags", excerpt(flag)) for flag in given if flag.partition(" ")[0] not in names)
    for name, value in expected.environment.items():
        if process.environment.get(name) != value:
            yield failed(f"{name}={value}", excerpt(process.environment.get(name, "not set")))
    is_group = not {"nnodes", "data-parallel-address"}.isdisjoint(expected.flags)
    for added in added_variables(process.environment, expected.environment, is_group=is_group):
        if MIG_INSTANCE in expected.environment and added.startswith("CUDA_VISIBLE_DEVICES=MIG-"):
            continue  # the launcher sets it; a plan compares the UUID with the present one
        yield failed("only planned variables", excerpt(added))
    if process.folders != (expected.engine,):
        yield failed(f"the engine {expected.engine}", ", ".join(process.folders) or "none")


def _same_name(flag: str, given: tuple[str, ...]) -> str:
    name = flag.partition(" ")[0]
    return excerpt(next((each for each in given if each.partition(" ")[0] == name), "not set"))


def _file_findings(written: Mapping[str, Any], planned: Mapping[str, Any]) -> Iterator[Judgement]:
    for name, value in planned.items():
        if name not in written:
            yield failed(f"{name} {value}", "not set")
        elif written[name] != value:
            yield failed(f"{name} {value}", excerpt(str(written[name])))
    for name in sorted(map(str, set(written) - set(planned))):
        yield failed("only planned flags", name)


def _api_findings(sections: ProbeSections, expected: Expected) -> Iterator[Judgement]:
    if ENGINES[expected.engine_name].environment != VLLM.environment:
        return  # other engines return no settings
    results = {str(row.get("path")): row for row in map(_json_object, sections.text("api").splitlines())}
    for path in ("/version", "/v1/models", "/metrics"):
        row = results.get(path, {"error": "no result"})
        if "error" in row:
            yield unknown(f"settings of {path}", excerpt(str(row["error"])))
            return
    version = str(results["/version"].get("version"))
    if version.partition("+")[0] != expected.engine_version:
        yield failed(f"vLLM {expected.engine_version}", excerpt(version))
    yield from _model_findings(results["/v1/models"], expected.flags)
    labels = results["/metrics"].get("cache")
    for flag, label in KV_CACHE_LABELS.items():
        value = expected.flags.get(flag)
        if isinstance(labels, dict) and value is not None and labels.get(label) != str(value):
            yield failed(f"{flag} {value} in /metrics", excerpt(str(labels.get(label, "not set"))))


def _model_findings(row: Mapping[str, Any], planned: Mapping[str, Any]) -> Iterator[Judgement]:
    adapters = dict(each.split("=", 1) for each in planned.get("lora-modules", ()))
    wanted = {str(planned["served-model-name"]): str(planned["model"]), **adapters}
    models = row.get("models")
    found = {str(each.get("id")): each for each in models if isinstance(each, dict)} if isinstance(models, list) else {}
    if set(found) != set(wanted):
        yield failed(f"models {', '.join(sorted(wanted))}", excerpt(", ".join(sorted(found)) or "none"))
        return
    for name, root in wanted.items():
        if found[name].get("root") != root:
            yield failed(f"{name} from {root}", excerpt(str(found[name].get("root"))))
    context = found[str(planned["served-model-name"])].get("max_model_len")
    if context != planned["max-model-len"]:
        yield failed(f"max-model-len {planned['max-model-len']} in /v1/models", excerpt(str(context)))


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except MALFORMED:
        raise Unreadable("one JSON document", text, where="server_api") from None
    if not isinstance(value, dict):
        raise Unreadable("a JSON object", text, where="server_api")
    return value


def _parse_flags(text: str) -> Mapping[str, Any]:
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, *MALFORMED):
        raise Unreadable("YAML", text, where="pool config") from None
    if not isinstance(value, dict):
        raise Unreadable("flags by name", text, where="pool config")
    return value
