"""Recordings through the gateway to a transcription pool beside the chat pool.

`make bench-speech` sends the same requests without a lab, and measures the latency of chats beside recordings.

The model has Whisper's smallest shape and random weights, so answers are compared by form, usage and code.
"""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from lab_site import GATEWAY, GATEWAY_PORT, NAME, POOL_UNIT, LabSite
from recordings_made import encoded
from speech_cases import CASES, CONTENT_TYPE, TRANSCRIPTIONS, SpeechCase, form

from examples import IS_COMPLETE
from sovctl.engine.lab.artifacts import model_store, random_whisper
from sovctl.support.canonical_json import sha256_hex

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="starts a second vLLM; runs with `make test-all`"),
]

SPEECH_UNIT, LIMIT_S = "sovctl-pool-speech", 600.0
# Sends a form to the gateway inside the lab. Reads the request from standard input; prints status and body.
_SEND = """
import base64, http.client, json, ssl, sys
job = json.load(sys.stdin)
context = ssl.create_default_context(cafile=job["ca_file"])
connection = http.client.HTTPSConnection(job["host"], job["port"], context=context, timeout=300)
headers = {"content-type": job["content_type"], "authorization": "Bearer " + open(job["key_file"]).read().strip()}
connection.request("POST", job["path"], base64.b64decode(job["body"]), headers)
response = connection.getresponse()
print(json.dumps([response.status, base64.b64encode(response.read()).decode()]))
"""


def with_speech(manifest_sha256: str) -> Callable[[dict[str, Any]], None]:
    """Return a change of site.yaml: a transcription pool on n1, beside the chat pool, each on one core."""

    def change(values: dict[str, Any]) -> None:
        values["models"].append({"name": "scribe", "catalog": "sovctl-whisper", "manifest_sha256": manifest_sha256})
        chat = values["pools"][0]
        chat |= {"tensor_parallel_size": 1, "cpu_affinity": "0"}
        speech = {key: copy.deepcopy(chat[key]) for key in chat if key != "structured_outputs_config"}
        speech |= {"name": "speech", "model": "scribe", "max_model_len": 448, "cpu_affinity": "1", "port": 8001}
        values["pools"].append(speech)
        values["gateway"]["routes"].append({"model": "scribe", "pool": "speech"})

    return change


@pytest.fixture(scope="module")
def speech(site: LabSite) -> Iterator[LabSite]:
    """Return the site with a transcription pool; afterwards it has its one pool again."""
    folder = site.lab.web / "models" / "scribe"
    folder.mkdir(parents=True, exist_ok=True)
    random_whisper.write(folder)
    manifest = model_store.manifest_text(model_store.digests_below(folder))
    (folder / model_store.MANIFEST).write_text(manifest)
    with site.edited(with_speech(sha256_hex(manifest))):
        site.changes()
        site.apply()
        assert not site.changes()
        site.wait_for_pool()
        probe = "/usr/local/lib/sovctl/probe --config /etc/sovctl/pools/speech.probe.json"
        said = site.on("n1", f"sudo {probe} --unit {SPEECH_UNIT} --wait {LIMIT_S:.0f}", limit_s=LIMIT_S + 60)
        assert json.loads(said)["ok"], said
        yield site
    site.mend()


def send(site: LabSite, path: str, body: bytes) -> tuple[int, bytes]:
    """Send a form to the gateway; return status and body."""
    job = {
        "host": GATEWAY,
        "port": GATEWAY_PORT,
        "ca_file": str(site.state / "pki" / "ca.pem"),
        "key_file": str(site.folder / "secrets" / "client-key"),
        "content_type": CONTENT_TYPE,
        "path": path,
        "body": base64.b64encode(body).decode(),
    }
    command = ["ip", "netns", "exec", NAME, sys.executable, "-c", _SEND]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, timeout=360, check=True)
    status, answer = json.loads(done.stdout)
    return status, base64.b64decode(answer)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_endpoint_limit_and_error(speech: LabSite, case: SpeechCase) -> None:
    status, answer = send(speech, case.path, case.body("scribe"))
    assert status == case.status, answer[:300]
    assert case.is_expected(answer), answer[:300]


def test_eight_recordings_at_once_are_answered(speech: LabSite) -> None:
    body = form(encoded("mp3", 10), "call.mp3", model="scribe", max_completion_tokens="16")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: send(speech, TRANSCRIPTIONS, body), range(8)))
    assert [status for status, _ in answers] == [200] * 8


@pytest.mark.parametrize(("unit", "core"), [(POOL_UNIT, "0"), (SPEECH_UNIT, "1")])
def test_both_servers_run_on_their_cores(speech: LabSite, unit: str, core: str) -> None:
    main = speech.unit("n1", unit, "MainPID")
    lists = speech.on(
        "n1", f"for each in {main} $(pgrep -P {main}); do grep Cpus_allowed_list /proc/$each/status; done"
    )
    assert {line.split()[-1] for line in lists.splitlines()} == {core}
