"""A plan names the flags, variables and engine of a running server that differ from those of site.yaml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from planned_nodes import planned, server_process, with_process
from strategies import context

from sovctl.engine.facts.processes import parse_processes, probe_command
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.resources.context import ROLES, render
from sovctl.engine.resources.resource import Change, Desired, Risk
from sovctl.engine.resources.serving.command_line import given_flags, planned_flags

UNIT = "sovctl-pool-chat.service"


def pool_change(process: dict[str, object]) -> Change:
    """The only change of the lab with another process."""
    facts = dict(planned("lab")[0])
    facts["n1"] = with_process(facts["n1"], UNIT, process)
    (found,) = changes(context("lab"), facts)
    return found


def desired() -> Desired:
    site = context("lab")
    return next(each for each in desired_on(site, site.spec.node("n1"), None) if each.kind == "pool")


def test_other_flags_of_the_process_are_a_restart_that_names_them() -> None:
    as_planned = server_process(desired())
    argv = [word.replace("512", "256") if word == "512" else word for word in as_planned["argv"]]
    found = pool_change(as_planned | {"argv": [*argv, "--api-key=(secret)"]})
    assert (found.kind, found.risk) == ("pool", Risk.WORKLOAD)
    assert found.before is not None
    assert found.after is not None
    assert set(found.before) == {"running_flags"}
    before, after = set(found.before["running_flags"]), set(found.after["running_flags"])
    assert before - after == {"api-key (secret)", "max-model-len 256"}
    assert after - before == {"max-model-len 512"}


def test_another_program_is_named_by_its_command_line() -> None:
    found = pool_change(server_process(desired()) | {"argv": ["sleep", "1000"]})
    assert found.before is not None
    assert found.before["running_flags"] == ["sleep 1000"]


def test_an_old_engine_and_a_removed_one_are_seen_after_a_switch() -> None:
    old = "/opt/sovctl/vllm-0123456789ab"
    for folders in ([old], [f"{old} (deleted)"], [old, server_process(desired())["folders"][0]]):
        found = pool_change(server_process(desired()) | {"folders": folders})
        assert found.before == {"running_engine": folders}


def test_added_variables_are_seen_and_those_of_systemd_are_not() -> None:
    as_planned = server_process(desired())
    added = {"LD_PRELOAD": "/tmp/x.so", "SOME_TOKEN": "(not read)"}
    found = pool_change(as_planned | {"environment": as_planned["environment"] | added})
    assert found.before is not None
    assert found.after is not None
    more = set(found.before["running_environment"]) - set(found.after["running_environment"])
    assert more == {"LD_PRELOAD=/tmp/x.so", "SOME_TOKEN=(not read)"}


def test_a_server_without_a_process_does_not_count_as_planned() -> None:
    found = pool_change({"pid": 0})
    assert found.before == {"running_flags": None, "running_environment": None, "running_engine": None}


@pytest.mark.parametrize("text", ["sleep", '{"unit": "a"}', '{"unit": "a", "pid": 0}\n{"unit": "a", "pid": 0}'])
def test_an_unknown_form_of_the_probe_is_an_error(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_processes(text)


def test_the_launcher_passes_exactly_the_flags_of_the_file(tmp_path: Path) -> None:
    flags = {**desired().variables["flags"], "no-x": False, "speculative-config": '{"method":"ngram"}', "seed": 1}
    file, engine = tmp_path / "chat.yaml", tmp_path / "vllm"
    file.write_text(render("pool", "pool.yaml.j2", item={"name": "chat", "flags": flags}))
    engine.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv))\n")
    engine.chmod(0o755)
    program = tmp_path / "serve"
    program.write_text(
        (ROLES / "pool" / "files" / "serve").read_text().replace("/opt/sovctl/vllm/bin/vllm", str(engine))
    )
    done = subprocess.run([sys.executable, program, file], capture_output=True, text=True, check=True)
    assert given_flags(json.loads(done.stdout)) == planned_flags(flags)


@pytest.mark.parametrize("line", ["port 8000", "port: [", "port: {}", "port: null"])
def test_the_launcher_refuses_a_line_of_another_form(line: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(f'model: "/m"\n{line}\n')
    done = subprocess.run(
        [sys.executable, ROLES / "pool" / "files" / "serve", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{file}:2: expected `flag: JSON value`" in done.stderr


def test_the_probe_reads_a_real_process_and_shows_no_secret(tmp_path: Path) -> None:
    tool = tmp_path / "systemctl"
    words = [
        "-c",
        "import time; time.sleep(60)",
        "serve",
        "/m",
        "--api-key",
        "hidden-1",
        "--seed=7",
        "--hf-token=hidden-2",
    ]
    environment = {"VLLM_HOST_IP": "10.0.0.1", "BANK_TOKEN": "hidden-3", "VLLM_API_KEY": "hidden-4"}
    with subprocess.Popen([sys.executable, *words], env=environment) as server:
        try:
            answer = f"[ $last = down.service ] && echo 0 || echo {server.pid}"
            tool.write_text(f"#!{shutil.which('sh')}\nfor last; do :; done\n{answer}\n")
            tool.chmod(0o755)
            path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
            command = [sys.executable, *probe_command(["up.service", "down.service"])[1:]]
            done = subprocess.run(command, env=path, capture_output=True, text=True, check=True)
        finally:
            server.kill()
    assert "hidden" not in done.stdout
    found = parse_processes(done.stdout)
    assert found["down.service"] is None
    process = found["up.service"]
    assert process is not None
    assert given_flags(process.argv) == ("api-key (secret)", "hf-token (secret)", "model /m", "seed 7")
    assert process.environment["VLLM_HOST_IP"] == "10.0.0.1"
    assert process.environment["BANK_TOKEN"] == process.environment["VLLM_API_KEY"] == "(not read)"
