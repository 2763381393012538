"""A yardstick that is not ours: `pii-leak-benchmark`, with its capture in the place of a cloud.

It sends prompts full of valid, invented identifiers through a real gateway process and looks at what reached the
capture and what came back. Names are not among its entities and its prompts are hardly sentences, so this site lets
names pass; everything else is tokenized.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback_gateway import KEY, MODEL, running_gateway, write_loopback_config
from loopback_ports import unused_port

from examples import IS_COMPLETE

_SITE = {"policy": {"default": "tokenize", "entity_types": {"PERSON": "allow"}}}


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One of the benchmark's commands, as its documentation starts it."""
    code = f"import sys; from pii_leak_benchmark.{module} import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "CONFORMANCE_TARGET_API_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_yardstick_sees_a_leak_where_there_is_no_gateway() -> None:
    done = run("cli", "selfcheck", "--target-base-url", "capture://self", "--capture-port", str(unused_port()))
    assert (done.returncode, "LEAK" in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize("profile", ["pii-v1", "pii-secrets-v1"])
def test_selfcheck_is_clean(tmp_path: Path, profile: str) -> None:
    capture_port = unused_port()
    with running_gateway(write_loopback_config(tmp_path, cloud_port=capture_port, **_SITE)) as gateway:
        target = ["--target-base-url", gateway.base_url, "--target-model", MODEL, "--profile", profile]
        done = run("cli", "selfcheck", *target, "--capture-port", str(capture_port), "--duty", "restore")
        assert done.returncode == 0, done.stdout + done.stderr + gateway.log()
        assert "CLEAN" in done.stdout


@pytest.fixture(scope="module")
def response_split(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The summary of the v2 profile; `make test-all` tries every internal split of every value."""
    folder, capture_port = tmp_path_factory.mktemp("v2"), unused_port()
    release = {"identifiers": {"default": "mask", "entity_types": {"PERSON": "allow"}}}
    routes = [{"model": MODEL, "pool": "chat", "cloud": "cloud", "prefer": "cloud", "release": release}]
    with running_gateway(write_loopback_config(folder, cloud_port=capture_port, routes=routes, **_SITE)) as gateway:
        target = ["--gateway-url", f"{gateway.base_url}/chat/completions", "--upstream-port", str(capture_port)]
        splits = ["--exhaustive-splits"] if IS_COMPLETE else []
        how = [*splits, "--partial-emission", "--validate", "--seed", "a1b2c3d4e5f60001"]
        where = ["--out", str(folder / "v2"), "--json-out", str(folder / "v2.json"), "--only", "sovctl"]
        done = run("v2_cli", *target, *how, *where, "--model", MODEL)
        assert (folder / "v2.json").exists(), done.stdout + done.stderr + gateway.log()
    (row,) = json.loads((folder / "v2.json").read_text())["rows"]
    row["partial"] = json.loads((folder / "v2/sovctl.partial-emission.json").read_text())
    return dict(row)


@pytest.mark.slow
def test_what_the_caller_wrote_comes_back_whatever_the_split(response_split: dict[str, Any]) -> None:
    assert response_split["schema_valid"]
    assert response_split["cases_attempted"] == response_split["echo_observable"] == 32
    assert response_split["inconclusive"] == 0
    assert response_split["fidelity_rate"] == 1.0
    assert response_split["request_path_leak"] == []
    assert response_split["partial"]["passed"]


@pytest.mark.slow
def test_what_the_model_made_up_does_not_reach_the_client(response_split: dict[str, Any]) -> None:
    assert response_split["leak_single_chunk"] == 0.0
    assert response_split["leak_adversarial"] == 0.0
