"""Pools: the process that runs is the one that was planned, it answers, and only those with a certificate get in.

Measured with vLLM 0.32.0: /health stays 200 while a worker hangs, so only a completion proves a pool; with an API key
alone, /invocations (a whole completion), /tokenize and /metrics answer anybody, so the client certificate is the lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ...facts.units import parse_units
from ...facts.unreadable import Unreadable, excerpt
from ..model.check import Expectation, Judgement, ProbeOutput, failed, passed, unknown, worst
from ..model.probe_sections import Parts, read_parts

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
FORBIDDEN = frozenset(
    {
        "VLLM_SERVER_DEV_MODE",  # opens /sleep, /collective_rpc and /reset_* with no key
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING",  # lets a caller load weights
    }
)
UNAUTHENTICATED_PATHS = ("/invocations", "/tokenize", "/metrics")
CONTROL_PATH = "/health"

# How a server that wants a certificate turns a caller away (probe_scripts/doors.py).
TURNED_AWAY = frozenset({"closed", "tls-alert"})


@dataclass(frozen=True, kw_only=True)
class PoolExpectation(Expectation):
    """One rank of a replica on one node; the subject is the replica's name.

    Args:
        unit: systemd unit with `.service`.
        config: path of the flags file.
        flags: what is in it, by vLLM's flag names.
        address, port: where the head listens.
    """

    unit: str
    config: str
    flags: Mapping[str, Any]
    address: str
    port: int


def judge_flags(output: ProbeOutput, expectation: PoolExpectation) -> Judgement:
    """The running process has exactly the planned flags: those on its command line, in its file, and no older file."""
    parts = read_parts(output)
    if problem := _not_running(parts, expectation.unit):
        return problem
    findings = [
        *_command_line(parts.text("process").splitlines(), expectation.config),
        *_flags(_mapping(parts.text("config")), expectation.flags),
        *_times(parts.text("times")),
    ]
    return worst(findings, otherwise=f"expected {len(expectation.flags)} flags as planned, got all of them running")


def judge_canary(output: ProbeOutput, expectation: PoolExpectation) -> Judgement:
    """One real completion came back, over mutual TLS."""
    part = read_parts(output).part("canary")
    answer = _json(part.text, "canary")
    if answer.get("ok") is True and part.exit_code == 0 and isinstance(answer.get("latency_ms"), int | float):
        return passed(f"expected a completion from pool {expectation.subject}, got one in {answer['latency_ms']} ms")
    if answer.get("ok") is False:
        return failed(f"a completion from pool {expectation.subject}", excerpt(str(answer.get("error", "none"))))
    return unknown('{"ok": true, "latency_ms": ...} and exit code 0', f"exit code {part.exit_code}")


def judge_certificate(output: ProbeOutput, _expectation: PoolExpectation) -> Judgement:
    """Without a client certificate there is no answer, in TLS or in plain HTTP."""
    doors = read_doors(read_parts(output).text("doors"))
    if problem := _control(doors):
        return problem
    findings = [_turned_away(doors, "no-certificate", CONTROL_PATH), _turned_away(doors, "plain", CONTROL_PATH)]
    return worst(
        findings, otherwise="expected answers with a client certificate only, got none without or in plain HTTP"
    )


def judge_paths(output: ProbeOutput, _expectation: PoolExpectation) -> Judgement:
    """The paths that vLLM's API key does not guard answer nobody without a client certificate."""
    doors = read_doors(read_parts(output).text("doors"))
    if problem := _control(doors):
        return problem
    findings = [_turned_away(doors, "no-certificate", path) for path in UNAUTHENTICATED_PATHS]
    return worst(findings, otherwise=f"expected {', '.join(UNAUTHENTICATED_PATHS)} closed, got no answer from any")


def judge_offline(output: ProbeOutput, expectation: PoolExpectation) -> Judgement:
    """The environment of the running process keeps it from calling out, and opens no developer's door."""
    parts = read_parts(output)
    if problem := _not_running(parts, expectation.unit):
        return problem
    count, *lines = parts.text("environment").splitlines() or [""]
    if not re.fullmatch(r"variables \d+", count) or count == "variables 0":
        raise Unreadable("`variables N`", count, where="/proc/PID/environ")
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    findings = [
        failed(f"{name}={wanted}", values.get(name, "not set"))
        for name, wanted in OFFLINE.items()
        if values.get(name) != wanted
    ]
    findings += [failed(f"{name} not set", "set") for name in sorted(FORBIDDEN) if values.get(name) not in (None, "0")]
    return worst(findings, otherwise=f"expected {', '.join(OFFLINE)} and no developer mode, got that")


def read_doors(text: str) -> dict[tuple[str, str], str]:
    """Answers by (door, path), as `probe_scripts/doors.py` prints them, one JSON line each.

    Raises:
        Unreadable: a line is strange, or one comes twice.
    """
    doors: dict[tuple[str, str], str] = {}
    for line in text.splitlines():
        row = _json(line, "doors")
        key = (str(row.get("door")), str(row.get("path")))
        if key in doors or not isinstance(row.get("answer"), str):
            raise Unreadable("each door and path once, with an answer", line, where="doors")
        doors[key] = row["answer"]
    return doors


def _control(doors: Mapping[tuple[str, str], str]) -> Judgement | None:
    """A door that opens for nobody proves nothing: with the node's certificate it must open."""
    answer = doors.get(("certificate", CONTROL_PATH), "none")
    return None if answer == "http 200" else unknown(f"{CONTROL_PATH} to answer 200 with a certificate", answer)


def _turned_away(doors: Mapping[tuple[str, str], str], door: str, path: str) -> Judgement:
    answer = doors.get((door, path))
    if answer is None:
        return unknown(f"an attempt at {path} ({door})", "none")
    if answer in TURNED_AWAY:
        return passed("turned away")
    return (failed if answer.startswith("http ") else unknown)(f"{path} ({door}) turned away", excerpt(answer))


def _not_running(parts: Parts, unit: str) -> Judgement | None:
    (state,) = parse_units(parts.text("unit"))[:1]
    if state.active is None or state.main_pid is None:
        return unknown(f"the state of {unit}", "none")
    if not state.is_running or state.main_pid == 0:
        return failed(f"{unit} running", f"{state.load}, {state.active}, {state.sub}")
    return None


def _command_line(words: list[str], config: str) -> Iterator[Judgement]:
    if "serve" not in words:
        yield unknown("`vllm serve` as the unit's process", excerpt(" ".join(words)))
    elif (arguments := words[words.index("serve") + 1 :]) != ["--config", config]:
        yield failed(f"--config {config} and nothing else on the command line", excerpt(" ".join(arguments), width=160))


def _flags(written: Mapping[str, Any], planned: Mapping[str, Any]) -> Iterator[Judgement]:
    for name, value in planned.items():
        if name not in written:
            yield failed(f"{name} {value}", "not set")
        elif written[name] != value:
            yield failed(f"{name} {value}", excerpt(str(written[name])))
    for name in sorted(map(str, set(written) - set(planned))):
        yield failed("only planned flags", name)


def _times(text: str) -> Iterator[Judgement]:
    match = re.fullmatch(r"started (\d+)\nwritten (\d+)", text.strip())
    if match is None:
        raise Unreadable("`started` and `written` in seconds", text, where="times")
    started, written = int(match[1]), int(match[2])
    # Both are whole seconds, and `ps` rounds a process's age: a second of grace.
    if started + 1 < written:
        yield failed("a process started after its flags were written", f"one {written - started} s older")


def _mapping(text: str) -> Mapping[str, Any]:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise Unreadable("YAML", text, where="pool config") from None
    if not isinstance(value, dict):
        raise Unreadable("flags by name", text, where="pool config")
    return value


def _json(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        raise Unreadable("one JSON document", text, where=where) from None
    if not isinstance(value, dict):
        raise Unreadable("a JSON object", text, where=where)
    return value
