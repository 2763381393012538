"""Every command of README.md and docs/commands that needs no nodes runs as shown, with the promised exit code."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest
import warm_processes
import yaml
from documented_commands import FIRST_WEEK, IN_THE_LAB, PAGES, ROOT, typed
from evidence_specimens import everywhere, fill
from foreign_specimens import FILES
from waiting import until

from bench.fabric import InventedFabric
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.witness import request
from sovctl.compliance.ledger.witness_memory import WitnessMemory
from sovctl.compliance.signing import load_or_create, parse_vkey
from sovctl.engine.lock.files import files_of
from sovctl.engine.lock.folder import Lock, write_lock
from sovctl.engine.lock.part import LockedPackage, Part
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import ExitCode

TIMEOUT_S = 120
_INSTALL = (
    "sovctl bootstrap ca install --certificate site.pem --root offline/root.pem --expect-root WORDS "
    "--transcript ceremony.txt"
)
OTHER_EXITS = {
    # No gateway next to the site; run in tests/gateway/access/test_subject_commands.py.
    ("audit", "sovctl audit export --subject idp:5f1c --out person.json --config gateway.yaml"): ExitCode.BAD_INPUT,
    ("audit", "sovctl audit erase --subject idp:5f1c --dry-run --config gateway.yaml"): ExitCode.BAD_INPUT,
    (
        "audit",
        "sovctl audit erase --tenant retail --values-file person.txt --config gateway.yaml",
    ): ExitCode.BAD_INPUT,
    ("README", "sovctl doctor my-site/site.yaml"): ExitCode.FAILURE,  # the preset's access key is absent
    ("doctor", "sovctl doctor site.yaml"): ExitCode.FAILURE,
    (
        "README",
        "sovctl plan my-site/site.yaml",
    ): ExitCode.BAD_INPUT,  # the preset's access key is absent
    ("validate", "sovctl validate site.yaml"): ExitCode.BAD_INPUT,  # the page shows two problems
    ("verify", "sovctl verify site.yaml --level full --node n1"): ExitCode.BAD_INPUT,  # as in README
    ("verify", "sovctl verify site.yaml --watch 60"): ExitCode.BAD_INPUT,
    (
        "report",
        "sovctl report diff .sovctl/reports/20261121T101500Z-3fa9 .sovctl/reports/20261122T101500Z-77b0",
    ): ExitCode.BAD_INPUT,  # no report; run in tests/cli/test_report_and_audit_commands.py
    (
        "report",
        "sovctl report sign .sovctl/reports/20261121T101500Z-3fa9 --key officer.key --name officer.example",
    ): ExitCode.BAD_INPUT,
    (
        "report",
        "sovctl audit verify REPORT --signer-key officer.vkey --signer-key auditor.vkey --signers 2",
    ): ExitCode.BAD_INPUT,
    (
        "lock",
        "sovctl lock site.yaml -o locks --inventory inventory.json --inventory-key site.vkey",
    ): ExitCode.BAD_INPUT,  # no inventory; run in tests/engine/lock
    ("lock", "sovctl lock site.yaml -o locks --system debian-12 --omit models"): ExitCode.FAILURE,  # unknown kernels
    ("lock", "sovctl lock diff locks-october locks"): ExitCode.BAD_INPUT,  # no lock
    ("mirror", "sovctl mirror select 1 --into published"): ExitCode.BAD_INPUT,  # no bundle; tests/engine/mirror
    ("lock", "sovctl lock check locks"): ExitCode.BAD_INPUT,
    (
        "lock",
        "sovctl lock fetch locks --to content --from own --from models",
    ): ExitCode.BAD_INPUT,  # no lock; run in tests/engine/lock
    ("bootstrap", "sovctl bootstrap adopt --from nodes.csv --witness anna"): ExitCode.BAD_INPUT,  # no export
    ("bootstrap", "sovctl bootstrap redfish status dgx-1"): ExitCode.BAD_INPUT,  # no controller
    ("bootstrap", "sovctl bootstrap redfish boot-once dgx-1"): ExitCode.BAD_INPUT,
    ("bootstrap", "sovctl bootstrap redfish power dgx-1 restart"): ExitCode.BAD_INPUT,
    ("bootstrap", _INSTALL): ExitCode.BAD_INPUT,  # no words; run in tests/cli/test_bootstrap_authority.py
    ("waiver", "sovctl waiver show W-1 site.yaml"): ExitCode.BAD_INPUT,  # the site has no waiver
    (
        "waiver",
        "sovctl waiver sign W-1 site.yaml --role request --key operator.key --name operator.example",
    ): ExitCode.BAD_INPUT,  # run in tests/cli/test_waiver_command.py
    (
        "waiver",
        "sovctl waiver sign W-1 site.yaml --role approval --key officer.key --name officer.example",
    ): ExitCode.BAD_INPUT,
    ("node", "sovctl plan"): ExitCode.BAD_INPUT,  # as in README
    ("node", "sovctl node certificate dgx-1"): ExitCode.BAD_INPUT,  # no node is certified
    ("node", "sovctl node verify-certificate dgx-1.json --key kept/log.vkey"): ExitCode.BAD_INPUT,
    ("node", "sovctl node packet dgx-1 --out dgx-1-repair.zip"): ExitCode.BAD_INPUT,
    ("node", 'sovctl node forget n2 --reason "destroyed, protocol 4711"'): ExitCode.BAD_INPUT,  # was never a node
}
OTHER_EXITS |= {
    ("evaluate", line): ExitCode.BAD_INPUT for line in typed(PAGES["evaluate"])
}  # no questions; run in tests/engine/checks/test_site_evaluation.py
OTHER_EXITS |= {
    ("scaling", line): ExitCode.BAD_INPUT for line in typed(PAGES["scaling"])
}  # the site has no section `scaling`; run in tests/cli/test_scaling_command.py
OTHER_EXITS |= {
    ("rag", line): ExitCode.BAD_INPUT for line in typed(PAGES["rag"])
}  # no settings; run in tests/gateway/retrieval/test_rag_commands.py
OTHER_EXITS |= {
    ("import", line): ExitCode.BAD_INPUT for line in typed(PAGES["import"]) if " status" not in line
}  # no policy; run in tests/engine/bundle
OTHER_EXITS |= {
    ("first-week", "sovctl doctor site.yaml"): ExitCode.FAILURE,  # keys and secrets are absent
    # No node, no inventory and no policy. tests/engine/lab/test_lab_day_one.py runs these with their inputs.
    **{
        ("first-week", line): ExitCode.BAD_INPUT
        for line in typed(FIRST_WEEK)
        if line.startswith(("sovctl lock site.yaml", "sovctl import stick1", "sovctl import approve", "sovctl mirror"))
        or " import show " in line
        or " ca install " in line  # no words; tests/cli/test_bootstrap_authority.py
    },
    **{("first-week", line): ExitCode.UNREACHABLE for line in typed(FIRST_WEEK) if " enrol " in line},
}
UNPROVEN = ("entry-1.tlog-proof --key kept/log.vkey", ".sovctl", ".sovctl/reports/20261121T101500Z-3fa9")
OTHER_EXITS |= {("audit", f"sovctl audit verify {each}"): ExitCode.UNPROVEN for each in UNPROVEN}
OTHER_EXITS |= {
    ("size", line): ExitCode.FAILURE for line in typed(PAGES["size"]) if "--what-if" in line
}  # it does not fit
ANSWERS = {"sovctl gateway vault erase --tenant retail --subject-file person.txt": "erase\n"}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one documented command in a folder. Paths below /etc/sovctl are the gateway's in the folder."""
    words = shlex.split(command.replace("/etc/sovctl/gateway.yaml", "mine/gateway.yaml"))[1:]
    if words[0] == "gateway" and words[1] in ("keys", "servers", "vault") and "--config" not in words:
        words += ["--config", "mine/gateway.yaml"]  # the default is /etc/sovctl/gateway.yaml
    environ = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    return warm_processes.sovctl(*words, cwd=folder, env=environ, answers=ANSWERS.get(command, ""), timeout_s=TIMEOUT_S)


def _bank(folder: Path) -> None:
    shutil.copytree(ROOT / "examples", folder / "examples")
    for each in (ROOT / "examples" / "bank-hybrid").iterdir():
        target = folder / each.name
        shutil.copytree(each, target) if each.is_dir() else shutil.copy(each, target)


def _bank_with_problems(folder: Path) -> None:
    _bank(folder)
    site = folder / "site.yaml"
    site.write_text(site.read_text().replace("tensor_parallel_size:", "tensor_paralel_size:", 1))


def _cloud_key(folder: Path) -> None:
    _bank(folder)
    (folder / "cloud.key").write_text("invented-key-of-the-cloud\n")
    (folder / "cloud.key").chmod(0o600)


def _gateway(folder: Path) -> None:
    _cloud_key(folder)
    message = {"role": "user", "content": "Please write to anna@example.com."}
    (folder / "request.json").write_text(json.dumps({"model": "assistant", "messages": [message]}))
    (folder / "person.txt").write_text("Anna Schmidt\n")
    (folder / "person.txt").chmod(0o600)
    (folder / "customers.csv").write_text("given_name,surname\nAnna,Schmidt\n")
    (folder / "kunden.csv").write_text("Name1,Name2\nSchmidt,Anna\n")


def _principal_key(folder: Path) -> None:
    """Add the key that signs principals to the settings of the gateway."""
    load_or_create(folder / "mine/principal.key")
    config = folder / "mine/gateway.yaml"
    settings = yaml.safe_load(config.read_text())
    settings.setdefault("access", {})["principal_key_files"] = ["principal.key"]
    config.write_text(yaml.safe_dump(settings))


def _load_tests(folder: Path) -> None:
    """Results as `vllm bench serve` writes them, of an invented server."""
    _bank(folder)
    for loads in (1, 16, 64):
        duration_s, requests = 60.0, 10 * loads
        result = {
            "backend": "vllm",
            "model_id": "meta-llama/Llama-3.3-70B-Instruct",
            "max_concurrency": loads,
            "duration": duration_s,
            "completed": requests,
            "total_input_tokens": 1000 * requests,
            "total_output_tokens": 200 * requests,
            "request_throughput": requests / duration_s,
            "output_throughput": 200 * requests / duration_s,
            "mean_ttft_ms": 120.0 + loads,
            "median_ttft_ms": 110.0 + loads,
            "mean_tpot_ms": 20.0 + loads / 8,
            "median_tpot_ms": 20.0 + loads / 8,
        }
        (folder / f"run-{loads}.json").write_text(json.dumps(result))


def _captures(folder: Path) -> None:
    """Two equal outputs of ibnetdiscover, of an invented fabric."""
    for name in ("capture.txt", "yesterday.txt"):
        (folder / name).write_text(InventedFabric(hosts=4, rails=2, hosts_per_leaf=4, uplinks=2).text())


def _audited(folder: Path) -> None:
    """A site with a ledger, evidence and a report, and what its auditor kept."""
    shutil.copy(ROOT / "examples" / "lab" / "site.yaml", folder)
    fill(folder / ".sovctl", everywhere("clock.synchronized"), run_id="20261121T101500Z-3fa9")
    assert run("sovctl report site.yaml", folder).returncode == ExitCode.OK
    (folder / "kept").mkdir()
    for name in ("checkpoint", "log.vkey"):
        shutil.copy(folder / ".sovctl" / "ledger" / name, folder / "kept")
    shutil.copy(folder / "kept" / "log.vkey", folder)
    (folder / "usb").mkdir()
    (folder / "asked.txt").write_text(request(LedgerReader(folder / ".sovctl" / "ledger"), old_size=0))
    memory = WitnessMemory(folder / "other-witness", name="risk.example")
    signed = memory.sign(folder / "asked.txt", log_key=parse_vkey((folder / "log.vkey").read_text()))
    shutil.copy(signed, folder / "usb")


def _with_results(folder: Path) -> None:
    """A site with a ledger, and results of other tools."""
    shutil.copy(ROOT / "examples" / "lab" / "site.yaml", folder)
    fill(folder / ".sovctl", everywhere("clock.synchronized"))
    (folder / "results.xml").write_bytes(FILES["xccdf"])
    (folder / "scan.json").write_bytes(FILES["grype"])
    (folder / "grype.yaml").write_text(
        "mapping: grype\ntool: grype\nreviewed_by: security office\nreviewed: 2026-11-20\n"
        "controls: {CVE-2026-1: {nist-800-53-moderate: [si-2]}}\n"
    )


def _mirror(folder: Path) -> None:
    """Files of a mirror, and their lock."""
    (folder / "mirror").mkdir()
    (folder / "locks").mkdir()
    packages = []
    for name in ("chrony", "nftables"):
        content = f"invented content of {name}\n".encode()
        (folder / "mirror" / f"{name}.deb").write_bytes(content)
        place = (f"{name}.deb", len(content), sha256_hex(content), "Debian main", "", "free", "yes")
        packages.append(LockedPackage(name, "1-1", "amd64", *place))
    part = Part("debian-12", "deb", {}, ("chrony", "nftables"), {}, tuple(packages), {}, "invented")
    lock = Lock("example-bank", {}, (), (part,))
    write_lock(lock, folder / "locks", "")
    for each in files_of(lock):
        if each.content:  # as `sovctl lock fetch` does
            path = folder / "mirror" / each.file.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(each.content)


def _known_host(folder: Path) -> None:
    """A site that knows the host key of a node, settings of its seed, and a passphrase."""
    _bank(folder)
    _installer_inputs(folder, "dgx-1")
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKY1x0pbX9Qkq5Vt3FqVb7N0mHlY2dGcJr8sWwTn4uEz"
    (folder / "access" / "known_hosts").write_text(f"10.20.1.11 {key}\n")


def _installer_inputs(folder: Path, node: str) -> None:
    """An ssh key, settings of the seed of a node, and a passphrase."""
    (folder / "access").mkdir(exist_ok=True)
    (folder / "access" / "apt-key.asc").write_text("invented, not a key\n")
    own = str(folder / "access" / "id_ed25519")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", own], check=True)
    (folder / "passphrase").touch(mode=0o600)
    (folder / "passphrase").write_text("invented-passphrase-of-a-root\n")
    (folder / "seeds.yaml").write_text(
        "version: 1\ninstaller: preseed\nprefix_length: 24\ngateway: 10.20.1.1\nnodes:\n"
        f'  {node}: {{mac: "02:00:00:00:00:11", disk_serial: S64GNE0R500123, luks_passphrase_file: null}}\n'
    )


def _first_week(folder: Path) -> None:
    """A lock, with its files in the folder of own files."""
    _mirror(folder)
    (folder / "mirror").rename(folder / "own")
    (folder / "models").mkdir()
    _installer_inputs(folder, "gpu-2")
    (folder / "access" / "known_hosts").touch()


PREPARED: dict[str, Callable[[Path], None]] = {
    "README": _cloud_key,
    "audit": _audited,
    "bootstrap": _known_host,
    "bundle": _mirror,
    "evidence": _with_results,
    "fabric": _captures,
    "first-week": _first_week,
    "gateway": _gateway,
    "report": _with_results,
    "size": _load_tests,
    "validate": _bank_with_problems,
}


def _offline(page: str) -> list[str]:
    lab = IN_THE_LAB.get(page, ())
    return [line for line in typed(PAGES[page]) if line not in lab]


def test_every_command_of_the_lab_is_on_its_page() -> None:
    unknown = {page: [line for line in lines if line not in typed(PAGES[page])] for page, lines in IN_THE_LAB.items()}
    assert not any(unknown.values()), unknown


@pytest.mark.parametrize("page", [page for page in PAGES if _offline(page)])
def test_commands_run_as_shown(page: str, tmp_path: Path) -> None:
    PREPARED.get(page, _bank)(tmp_path)
    for line in _offline(page):
        if line.split()[1:3] == ["gateway", "serve"]:
            _serve(line, tmp_path)
            continue
        if line == "sovctl gateway keys jwks":
            _principal_key(tmp_path)
        done = run(line, tmp_path)
        expected = OTHER_EXITS.get((page, line), ExitCode.OK)
        assert done.returncode == expected, f"{line}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr


def _serve(line: str, folder: Path) -> None:
    """Start the gateway as shown, wait until it is ready, and stop it."""
    words = shlex.split(line.removesuffix("&").replace("/etc/sovctl", "mine"))[1:]
    listen = yaml.safe_load((folder / words[words.index("--config") + 1]).read_text())["listen"]
    with (folder / "gateway.log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "sovctl.cli", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            until(
                lambda: _answers(listen["host"], listen["port"]) or process.poll() is not None,
                "the gateway",
                timeout_s=TIMEOUT_S,
            )
            assert process.poll() is None, (folder / "gateway.log").read_text()
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def _answers(host: str, port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=5)) as connection:
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == HTTPStatus.OK
        except OSError:
            return False
