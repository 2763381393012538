"""For every check: what it expects, a good answer, bad answers with their verdicts, and what it cannot do without.

Answers have the form that `parts.script` prints; `test_check_probes` holds the two together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from gpu_samples import document, eight, gpu

from sovctl.compliance.verdict import Verdict
from sovctl.engine.certificate_authority import Authority
from sovctl.engine.checks.definitions import _ledger
from sovctl.engine.checks.definitions.access import ssh_keys_only
from sovctl.engine.checks.definitions.clock import synchronized
from sovctl.engine.checks.definitions.gateway import _gateway_check, only_tokens_leave
from sovctl.engine.checks.definitions.gpu import _gpu_check
from sovctl.engine.checks.definitions.ib import ports_active
from sovctl.engine.checks.definitions.model import checksum
from sovctl.engine.checks.definitions.nvlink import _links, fabric_ready
from sovctl.engine.checks.definitions.perimeter import default_drop, exception_only_from_gateway, no_way_out
from sovctl.engine.checks.definitions.perimeter._attempts import Endpoint
from sovctl.engine.checks.definitions.plan import empty_after_apply, nothing_unmanaged
from sovctl.engine.checks.definitions.pool import _replicas
from sovctl.engine.checks.definitions.site import keys_private, root_certificate_lasts
from sovctl.engine.checks.definitions.site.keys_private import GROUP_MAY_READ, PrivateFile
from sovctl.engine.checks.definitions.software import _lock_check, environment_files, sources_only_mirror
from sovctl.engine.checks.model.check import Expectation, ProbeOutput
from sovctl.engine.spec.types import Secret

FAIL, UNKNOWN, WARN, NOT_APPLICABLE = Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.NOT_APPLICABLE


def root_certificate(year: int) -> str:
    """As `apply` makes it in the middle of that year."""
    with TemporaryDirectory() as folder:
        authority = Authority(Path(folder), "example")
        authority.ensure(now=datetime(year, 7, 1, tzinfo=UTC))
        return authority.certificate_file.read_text()


def environment_tree(**changes: object) -> str:
    """The document of the program that hashes an environment."""
    tree = {"root": "/opt/sovctl/vllm-0123456789ab", "manifest_sha256": C, "entries": 3, "changed": [], "more": 0}
    return json.dumps({"/opt/sovctl/vllm": tree | changes}) + "\n"


@dataclass(frozen=True)
class Bad:
    """An answer that must not pass: parts that differ from the good answer, the verdict, a word of the reason."""

    parts: Mapping[str, str | tuple[int, str]]
    verdict: Verdict
    word: str


@dataclass(frozen=True)
class Sample:
    """One check's answers.

    Args:
        good: text of every part that the check reads, and of no other.
        bad: answers by name.
        essential: words; without the first line that holds one, the good answer is none.
    """

    expectation: Expectation
    good: Mapping[str, str | tuple[int, str]]
    bad: Mapping[str, Bad]
    essential: tuple[str, ...] = field(default=())


def answer(parts: Mapping[str, str | tuple[int, str]]) -> ProbeOutput:
    """As the probe's shell prints it."""
    out = []
    for name, part in parts.items():
        code, text = part if isinstance(part, tuple) else (0, part)
        out.append(f"=== sovctl begin {name}\n{text}\n=== sovctl end {name} {code}\n")
    return ProbeOutput(0, "".join(out), "")


def lines(*rows: object) -> str:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


SSHD = """\
port 22
permitrootlogin without-password
pubkeyauthentication yes
passwordauthentication no
kbdinteractiveauthentication no
permitemptypasswords no
hostbasedauthentication no
gssapiauthentication no
"""
TRACKING = "0A4D0001,10.77.0.1,9,1732156189.1,-0.000412,0.1,0.1,-1.2,0.0,0.1,0.000210,0.000120,64.2,Normal\n"
SOURCES = "^,*,10.77.0.1,8,6,377,23,-0.000001,0.000002,0.000030\n"


def ruleset(
    *, policy: str = "drop", hooks: tuple[str, ...] = ("input", "forward", "output"), open_rule: bool = False
) -> str:
    """nft's JSON for a wall."""
    entries: list[object] = [
        {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
        {"table": {"family": "inet", "name": "sovctl", "handle": 1}},
    ]
    for handle, hook in enumerate(hooks, 1):
        chain = {"family": "inet", "table": "sovctl", "name": hook, "handle": handle}
        entries.append({"chain": {**chain, "type": "filter", "hook": hook, "prio": 0, "policy": policy}})
    match = {"match": {"op": "==", "left": {"meta": {"key": "iif"}}, "right": "lo"}}
    expressions = [{"accept": None}] if open_rule else [match, {"accept": None}]
    entries.append({"rule": {"family": "inet", "table": "sovctl", "chain": "input", "handle": 9, "expr": expressions}})
    return json.dumps({"nftables": entries})


CLOUD, BESIDE, NOWHERE = Endpoint("10.88.0.2", 443), Endpoint("10.88.0.2", 9), Endpoint("192.0.2.1", 443)


def attempts(*ways: tuple[Endpoint, str, str]) -> str:
    """Output of egress.py."""
    return lines(*({"address": end.address, "port": end.port, "tcp": tcp, "udp": udp} for end, tcp, udp in ways))


DRIVER = _lock_check.Expected(
    lock="nvidia-580.126.20",
    driver_version="580.126.20",
    packages={"debian-12": {"nvidia-open": "580.126.20-1", "nvidia-fabricmanager": "580.126.20-1"}},
)
SYSTEM = 'ID=debian\nVERSION_ID="12"\n'
PACKAGES = (
    "adduser\t3.134\tall\tii \nnvidia-fabricmanager\t580.126.20-1\tamd64\thi \nnvidia-open\t580.126.20-1\tamd64\thi \n"
)
MODULE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\nGCC version: 12\n"
FM_UNIT = "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=77\n"
TARGETS = (
    "MetaKey: Packages\nRepo-URI: http://10.77.0.1:8080/apt/\nTrusted: yes\n"
    "Sourcesentry: /etc/apt/sources.list.d/sovctl.sources:1\n"
)
VENDOR_TARGET = (
    "MetaKey: Packages\nRepo-URI: http://dgx.example.org/\nTrusted: yes\nSourcesentry: /etc/apt/sources.list:1\n"
)
DGX_OS = 'DGX_SWBUILD_VERSION="7.2.3"\n'
SOURCE_FILE = """\
=> /etc/apt/sources.list.d/sovctl.sources
# Written by sovctl
Types: deb
URIs: http://10.77.0.1:8080/apt
Suites: ./
Signed-By: /etc/apt/keyrings/sovctl.asc

"""
APT_SETTINGS = "Acquire::AllowInsecureRepositories 0\nAcquire::AllowDowngradeToInsecureRepositories 0\n"
GPUS = _gpu_check.Expected(gpu_count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)
BUS = "0x8086 0x1237 0x060000\n" + "0x10de 0x22a3 0x068000\n" * 4 + "0x10de 0x2330 0x030200\n" * 8
SEVEN = document(*(gpu(index) for index in range(7)))
LINKS = _links.Expected(gpu_count=8, links_per_gpu=18, link_gb_s=26.562, topology="NV18")


def nvlink_status(*, down: tuple[int, int] | None = None, gpus: int = 8, speed: str = "26.562 GB/s") -> str:
    """18 links per GPU; `down` is (gpu, link)."""
    text = ""
    for index in range(gpus):
        text += f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000{index})\n"
        text += "".join(f"\t Link {link}: {'<inactive>' if (index, link) == down else speed}\n" for link in range(18))
    return text


def nvlink_errors(*, count: int = 0, name: str = "Recovery Errors") -> str:
    """Three counters per link; GPU 3 link 4 has `count`."""
    text = ""
    for index in range(8):
        text += f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000{index})\n"
        for link in range(18):
            for each in ("Replay Errors", "Recovery Errors", "CRC Errors"):
                value = count if (index, link, each) == (3, 4, "Recovery Errors") else 0
                label = name if (index, link, each) == (3, 4, "Recovery Errors") else each
                text += f"\t Link {link}: {label}: {value}\n"
    return text


def matrix(cell: str, *, odd: str | None = None) -> str:
    """Eight GPUs; `odd` is what GPU2 says of GPU5."""
    names = [f"GPU{index}" for index in range(8)]
    rows = [
        "\t".join([a, *("X" if a == b else odd if odd and (a, b) == ("GPU2", "GPU5") else cell for b in names)])
        for a in names
    ]
    return "\t" + "\t".join(names) + "\n" + "\n".join(rows) + "\n\nLegend:\n\n  X    = Self\n"


H100_FABRIC = fabric_ready.Expected(
    gpu_count=8, services=("nvidia-fabricmanager",), state="Completed", status="Success", health=None, has_cluster=False
)
DEAD_UNIT = FM_UNIT.replace("active\nSubState=running", "failed\nSubState=failed")


def sysfs(*, adapters: int = 8, rate: str = "400 Gb/sec (4X NDR)", state: str = "4: ACTIVE") -> dict[str, str]:
    """Parts of the InfiniBand probe; mlx5_3 has `rate` and `state`, and there is an Ethernet bond beside them."""
    tree = (
        "mlx5_bond_0/hca_type:MT41692\nmlx5_bond_0/ports/1/state:4: ACTIVE\nmlx5_bond_0/ports/1/link_layer:Ethernet\n"
    )
    for index in range(adapters):
        odd = index == 3
        tree += (
            f"mlx5_{index}/hca_type:MT4129\nmlx5_{index}/ports/1/state:{state if odd else '4: ACTIVE'}\n"
            f"mlx5_{index}/ports/1/phys_state:5: LinkUp\nmlx5_{index}/ports/1/link_layer:InfiniBand\n"
            f"mlx5_{index}/ports/1/rate:{rate if odd else '400 Gb/sec (4X NDR)'}\n"
        )
    return {"adapters": f"{adapters + 1}\n", "tree": tree, "bus": "0x15b3 0x1021 0x020700\n" * adapters}


A, B, C = "a" * 64, "b" * 64, "c" * 64
POOL = _replicas.Expected(
    subject="chat",
    unit="sovctl-pool-chat.service",
    config="/etc/sovctl/pools/chat.yaml",
    flags={
        "model": "/srv/sovctl/models/echo",
        "served-model-name": "echo",
        "tensor-parallel-size": 2,
        "max-model-len": 512,
        "enforce-eager": True,
        "gpu-memory-utilization": 0.92,
    },
    address="10.77.0.11",
    port=8000,
    environment={"HF_HUB_OFFLINE": "1"},
    engine="/opt/sovctl/vllm-0123456789ab",
    engine_version="0.32.0",
)
POOL_UNIT = "Id=sovctl-pool-chat.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=1234\n"
POOL_CONFIG = (
    "# Written by sovctl\nmodel: /srv/sovctl/models/echo\nserved-model-name: echo\ntensor-parallel-size: 2\n"
    "max-model-len: 512\nenforce-eager: true\ngpu-memory-utilization: 0.92\n"
)
POOL_ARGV = (
    "/opt/sovctl/vllm-0123456789ab/bin/python /opt/sovctl/vllm/bin/vllm serve /srv/sovctl/models/echo "
    "--served-model-name echo --tensor-parallel-size 2 --max-model-len 512 --enforce-eager "
    "--gpu-memory-utilization 0.92"
)


def pool_process(more: str = "", argv: str = POOL_ARGV, **changes: object) -> str:
    """Output of process_probe.py."""
    row = {"unit": "sovctl-pool-chat.service", "pid": 1234, "argv": f"{argv} {more}".split()}
    known = {"environment": {"HF_HUB_OFFLINE": "1", "PATH": "(not read)"}, "folders": [POOL.engine]}
    return lines(row | known | changes)


def pool_api(version: str = "0.32.0+cpu", length: int = 512, share: str = "0.92", **models: str) -> str:
    """Output of server_api.py."""
    served = {"echo": "/srv/sovctl/models/echo"} | models
    rows = [{"id": name, "root": root, "parent": None, "max_model_len": length} for name, root in served.items()]
    cache = {"gpu_memory_utilization": share, "block_size": "128"}
    return lines(
        {"path": "/version", "version": version},
        {"path": "/v1/models", "models": rows},
        {"path": "/metrics", "cache": cache},
    )


POOL_ENVIRONMENT = "variables 23\nHF_HUB_OFFLINE=1\nVLLM_NO_USAGE_STATS=1\n"
STOPPED_UNIT = POOL_UNIT.replace("active\nSubState=running\nMainPID=1234", "failed\nSubState=failed\nMainPID=0")


def doors(**answers: str) -> str:
    """Output of mutual_tls.py; `plain`, `no_certificate`, `certificate`, `invocations` change an answer."""
    way = {"certificate": "http 200", "no_certificate": "tls-alert", "plain": "closed", "invocations": "tls-alert"}
    way |= answers
    return lines(
        {"door": "certificate", "path": "/health", "answer": way["certificate"]},
        {"door": "no-certificate", "path": "/health", "answer": way["no_certificate"]},
        {"door": "plain", "path": "/health", "answer": way["plain"]},
        {"door": "no-certificate", "path": "/invocations", "answer": way["invocations"]},
        {"door": "no-certificate", "path": "/tokenize", "answer": "closed"},
        {"door": "no-certificate", "path": "/metrics", "answer": "tls-alert"},
    )


GATEWAY = _gateway_check.Expected(
    url="https://10.77.0.21:8443", models=("assistant", "private"), cloud_model="assistant", key=Secret(file="key")
)


def chats(**changes: object) -> str:
    """What `ask chat` prints; `changes` are to the answer of `private`."""
    good = {"status": 200, "request_id": "r-1", "has_text": True, "latency_ms": 12}
    return lines(
        {"model": "assistant", "route": "cloud", **good}, {"model": "private", "route": "pool", **good, **changes}
    )


def knocks(**status: int) -> str:
    """What `ask unauthenticated` prints."""
    cases = {"healthz": 200, "no key": 401, "wrong key": 401, "models without key": 401}
    cases |= {name.replace("_", " "): code for name, code in status.items()}
    return lines(*({"case": name, "status": code} for name, code in cases.items()))


def sealed(**changes: object) -> str:
    """What `ask sealed_values` prints."""
    good = {"status": 200, "route": "cloud", "rows_before": 4, "rows_after": 7, "copies": 0, "open_files": []}
    return lines({**good, **changes})


def recorded(**changes: object) -> str:
    """What `ask record` prints."""
    good = {"status": 200, "request_id": "r-7", "records": {"gateway.request": 1, "gateway.answer": 1}, "texts": 0}
    return lines({**good, **changes})


def ledger(**changes: object) -> str:
    """What `sovctl audit verify --json` prints."""
    good = {"is_whole": True, "origin": "sovctl.lab/site", "entries": 60, "signed_size": 60, "findings": []}
    return json.dumps({"facts": [], "findings": [], "ledger": {**good, **changes}}, indent=2)


SAMPLES: dict[str, Sample] = {
    "access.ssh-keys-only": Sample(
        ssh_keys_only.Expected(users=("ops", "root")),
        {"user_0": SSHD, "user_1": SSHD},
        {
            "passwords": Bad(
                {"user_0": SSHD.replace("passwordauthentication no", "passwordauthentication yes")}, FAIL, "yes"
            ),
            "for-root-alone": Bad({"user_1": SSHD.replace("without-password", "yes")}, FAIL, "for root"),
            "not-said": Bad(
                {"user_0": SSHD.replace("kbdinteractiveauthentication no\n", "")}, UNKNOWN, "kbdinteractive"
            ),
        },
        ("pubkeyauthentication", "passwordauthentication", "kbdinteractive", "permitempty", "permitroot", "hostbased"),
    ),
    "clock.synchronized": Sample(
        synchronized.Expected(servers=("10.77.0.1",), max_offset_ms=100),
        {"tracking": TRACKING, "sources": SOURCES},
        {
            "unsynchronised": Bad(
                {"tracking": TRACKING.replace("Normal", "Not synchronised")}, FAIL, "Not synchronised"
            ),
            "far-off": Bad({"tracking": TRACKING.replace("-0.000412", "-0.412")}, FAIL, "412."),
            "another-source": Bad({"sources": SOURCES.replace("10.77.0.1", "198.51.100.7")}, FAIL, "198.51.100.7"),
            "silent-source": Bad({"sources": SOURCES.replace(",377,", ",0,")}, FAIL, "last eight polls"),
            "none-selected": Bad({"sources": SOURCES.replace("*", "?")}, FAIL, "selected"),
        },
        ("Normal", "^,*"),
    ),
    "perimeter.default-drop": Sample(
        default_drop.Expected(),
        {"ruleset": ruleset()},
        {
            "accepts": Bad({"ruleset": ruleset(policy="accept")}, FAIL, "policy drop on input"),
            "no-output": Bad({"ruleset": ruleset(hooks=("input", "forward"))}, FAIL, "output"),
            "no-table": Bad(
                {"ruleset": '{"nftables": [{"metainfo": {"json_schema_version": 1}}]}'}, FAIL, "no such table"
            ),
            "open-to-all": Bad({"ruleset": ruleset(open_rule=True)}, FAIL, "handle 9"),
        },
    ),
    "perimeter.no-way-out": Sample(
        no_way_out.Expected(endpoints=(CLOUD, BESIDE, NOWHERE)),
        {
            "root": attempts(
                (CLOUD, "timeout", "denied"), (BESIDE, "timeout", "denied"), (NOWHERE, "no-route", "no-route")
            ),
            "names": '{"name": "example.com", "addresses": []}\n',
        },
        {
            "public-name": Bad(
                {"names": '{"name": "example.com", "addresses": ["192.0.2.7"]}\n'}, FAIL, "no address of example.com"
            ),
            "connected": Bad(
                {
                    "root": attempts(
                        (CLOUD, "timeout", "denied"), (BESIDE, "connected", "denied"), (NOWHERE, "timeout", "denied")
                    )
                },
                FAIL,
                "10.88.0.2:9 blocked for root, got TCP connected",
            ),
            "datagram-left": Bad(
                {
                    "root": attempts(
                        (CLOUD, "timeout", "denied"), (BESIDE, "timeout", "sent"), (NOWHERE, "timeout", "denied")
                    )
                },
                FAIL,
                "UDP sent",
            ),
            # Who refused cannot be told: the node's own firewall, or somebody outside.
            "refused": Bad(
                {
                    "root": attempts(
                        (CLOUD, "refused", "denied"), (BESIDE, "timeout", "denied"), (NOWHERE, "timeout", "denied")
                    )
                },
                UNKNOWN,
                "refused",
            ),
        },
        ("10.88.0.2", "192.0.2.1"),
    ),
    "perimeter.exception-only-from-gateway": Sample(
        exception_only_from_gateway.Expected(endpoints=(CLOUD,), is_gateway=True),
        {"root": attempts((CLOUD, "timeout", "denied")), "gateway": attempts((CLOUD, "connected", "denied"))},
        {
            "open-for-root": Bad({"root": attempts((CLOUD, "connected", "denied"))}, FAIL, "for root"),
            "closed-for-gateway": Bad(
                {"gateway": attempts((CLOUD, "timeout", "denied"))}, FAIL, "reachable for the gateway"
            ),
            "no-such-user": Bad({"gateway": (1, "")}, UNKNOWN, "exit code 0 of gateway"),
        },
        ("10.88.0.2",),
    ),
    "software.driver-exact": Sample(
        DRIVER,
        {"system": SYSTEM, "packages": PACKAGES, "module": MODULE, "gpus": eight()},
        {
            "other-system": Bad({"system": 'ID=slackware\nVERSION_ID="15"\n'}, UNKNOWN, "a supported operating system"),
            "other-version": Bad(
                {"packages": PACKAGES.replace("open\t580.126.20-1", "open\t580.173.02-1")}, FAIL, "580.173.02-1"
            ),
            "removed": Bad(
                {"packages": PACKAGES.replace("open\t580.126.20-1\tamd64\thi", "open\t580.126.20-1\tamd64\trc")},
                FAIL,
                "not installed",
            ),
            "old-module": Bad({"module": MODULE.replace("126.20", "95.05")}, FAIL, "the loaded module"),
            "other-smi": Bad({"gpus": document(gpu(0), driver="580.95.05")}, FAIL, "nvidia-smi at"),
        },
        ("NVRM version", "driver_version", "nvidia-open", "ID=", "VERSION_ID"),
    ),
    "software.fabric-manager-equals-driver": Sample(
        DRIVER,
        {
            "system": SYSTEM,
            "packages": PACKAGES,
            "gpus": eight(),
            "program": "Fabric Manager version is : 580.126.20\n",
            "services": FM_UNIT,
        },
        {
            # A glob without a hold put 590 beside 580 (NVIDIA/gpu-driver-container issue 735).
            "package-ahead": Bad(
                {"packages": PACKAGES.replace("manager\t580.126.20-1", "manager\t590.44.01-1")}, FAIL, "590.44.01-1"
            ),
            "program-ahead": Bad({"program": "Fabric Manager version is : 590.44.01\n"}, FAIL, "590.44.01"),
            "dead": Bad({"services": DEAD_UNIT}, FAIL, "failed"),
            "absent": Bad({"program": (127, "")}, UNKNOWN, "127"),
        },
        ("ActiveState", "SubState", "LoadState", "Id=", "driver_version", "nvidia-fabricmanager\t", "Fabric Manager"),
    ),
    "software.packages-held": Sample(
        DRIVER,
        {"system": SYSTEM, "holds": "nvidia-fabricmanager\nnvidia-open\n"},
        {
            "one-free": Bad({"holds": "nvidia-open\n"}, FAIL, "nvidia-fabricmanager held"),
            "dgx-os": Bad(
                {"system": 'ID=ubuntu\nVERSION_ID="24.04"\n=== dgx-release\nDGX_SWBUILD_VERSION="7.2.3"\n'},
                NOT_APPLICABLE,
                "DGX OS 7",
            ),
        },
        ("nvidia-open", "nvidia-fabricmanager"),
    ),
    "software.sources-only-mirror": Sample(
        sources_only_mirror.Expected(apt_url="http://10.77.0.1:8080/apt"),
        {"targets": TARGETS, "files": SOURCE_FILE, "settings": APT_SETTINGS, "dgx_release": "absent\n"},
        {
            "another": Bad(
                {"targets": f"{TARGETS}\nRepo-URI: http://deb.example.org/debian/\n"}, FAIL, "deb.example.org"
            ),
            "another-file": Bad(
                {"files": f"{SOURCE_FILE}=> /etc/apt/sources.list\ndeb [signed-by=/k] http://apt.example.org/ x y\n"},
                FAIL,
                "apt.example.org",
            ),
            "unverified": Bad({"targets": TARGETS.replace("Trusted: yes", "Trusted: no")}, FAIL, "verified signature"),
            "any-key": Bad({"files": SOURCE_FILE.replace("Signed-By", "X-Signed-By")}, FAIL, "Signed-By"),
            "forced": Bad({"files": SOURCE_FILE.replace("Types", "Trusted: yes\nTypes")}, FAIL, "trusted in"),
            "settings": Bad({"settings": APT_SETTINGS.replace("Repositories 0", "Repositories true", 1)}, FAIL, "true"),
            "none": Bad({"targets": "\n"}, FAIL, "no source"),
            "another-on-another-platform": Bad(
                {"targets": f"{TARGETS}\n{VENDOR_TARGET}", "dgx_release": DGX_OS}, FAIL, "dgx.example.org"
            ),
        },
        ("Repo-URI", "Trusted", "Signed-By", "=> "),
    ),
    "gpu.count": Sample(
        GPUS,
        {"gpus": eight(), "bus": BUS},
        {
            "seven": Bad({"gpus": SEVEN, "bus": BUS}, FAIL, "expected 8 GPUs, got 7"),
            "seven-on-bus": Bad({"bus": BUS[: BUS.rindex("0x10de")]}, FAIL, "on the PCI bus, got 7"),
            "lost": Bad({"gpus": eight(state="GPU is lost")}, FAIL, "GPU is lost"),
            "lost-and-error": Bad({"gpus": (15, eight(state="GPU is lost"))}, FAIL, "GPU is lost"),
            "wants-reset": Bad({"gpus": eight(recovery="Reset")}, FAIL, "Reset"),
            "miscounted": Bad({"gpus": document(*(gpu(index) for index in range(8)), attached=9)}, UNKNOWN, "9 GPUs"),
            "other-model": Bad({"gpus": eight().replace("233010DE", "232110DE", 1)}, FAIL, "2321"),
            "no-driver": Bad({"gpus": (9, "NVIDIA-SMI has failed")}, UNKNOWN, "NVIDIA-SMI has failed"),
        },
        ("attached_gpus", "pci_device_id", "0x2330"),
    ),
    "gpu.ecc": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "off": Bad({"gpus": eight(ecc="Disabled")}, FAIL, "ECC Enabled on GPU 3"),
            "volatile": Bad({"gpus": eight(volatile="5", aggregate="8")}, FAIL, "got 5"),
            "long-ago": Bad({"gpus": eight(aggregate="8")}, WARN, "got 8"),
            "lost": Bad({"gpus": eight(volatile="GPU is lost", aggregate="GPU is lost")}, UNKNOWN, "GPU is lost"),
            "seven": Bad({"gpus": SEVEN}, FAIL, "expected 8 GPUs"),
        },
        ("current_ecc", "dram_uncorrectable", "attached_gpus"),
    ),
    "gpu.row-remap": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "failure": Bad({"gpus": eight(failure="Yes")}, FAIL, "replace the GPU"),
            "pending": Bad({"gpus": eight(pending="Yes")}, WARN, "reset the GPU"),
            "strange-word": Bad({"gpus": eight(failure="Perhaps")}, UNKNOWN, "remapped_rows of GPU 3"),
        },
        ("remapped_row_failure", "remapped_row_pending"),
    ),
    "gpu.persistence": Sample(
        GPUS,
        {"gpus": eight()},
        {"off": Bad({"gpus": eight(persistence="Disabled")}, FAIL, "GPU 3")},
        ("persistence_mode",),
    ),
    "gpu.pcie-link": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "half": Bad(
                {"gpus": eight().replace("<current_link_width>16x", "<current_link_width>8x", 1)}, FAIL, "got 8"
            ),
            "idle": Bad({"gpus": eight().replace("<current_link_gen>5", "<current_link_gen>1", 1)}, WARN, "under load"),
        },
        ("current_link_width", "current_link_gen"),
    ),
    "gpu.temperature": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "hot": Bad(
                {"gpus": eight().replace("<gpu_temp_tlimit>58 C", "<gpu_temp_tlimit>-1 C", 1)}, FAIL, "-1 degrees"
            ),
            "warm": Bad({"gpus": eight().replace("<gpu_temp_tlimit>58 C", "<gpu_temp_tlimit>3 C", 1)}, WARN, "got 3"),
        },
        ("gpu_temp_tlimit",),
    ),
    "nvlink.links-active": Sample(
        LINKS,
        {"links": nvlink_status()},
        {
            "one-down": Bad(
                {"links": nvlink_status(down=(3, 7))}, FAIL, "18 active links on GPU 3, got 17, link 7 inactive"
            ),
            "seven-gpus": Bad({"links": nvlink_status(gpus=7)}, FAIL, "links of 8 GPUs, got 7"),
            "slow": Bad({"links": nvlink_status(speed="20 GB/s")}, FAIL, "got 20.0 GB/s"),
            "all-down": Bad(
                {
                    "links": nvlink_status(gpus=7)
                    + "GPU 7: H100\nNVML: Unable to retrieve NVLink information as all links are inactive\n"
                },
                FAIL,
                "GPU 7, got 0",
            ),
        },
        ("Link 17", "GPU 7:"),
    ),
    "nvlink.errors-zero": Sample(
        LINKS,
        {"errors": nvlink_errors()},
        {
            "counted": Bad({"errors": nvlink_errors(count=3)}, FAIL, "0 Recovery Errors on GPU 3 link 4, got 3"),
            "unknown-counter": Bad({"errors": nvlink_errors(name="New Errors")}, UNKNOWN, "New Errors"),
        },
        ("GPU 7:",),
    ),
    "nvlink.peer-access": Sample(
        LINKS,
        {"topology": matrix("NV18"), "access": matrix("OK")},
        {
            "seventeen": Bad({"topology": matrix("NV18", odd="NV17")}, FAIL, "NV18 from GPU2 to GPU5, got NV17"),
            "one-way": Bad({"access": matrix("OK", odd="NS")}, FAIL, "OK from GPU2 to GPU5, got NS"),
        },
        ("\tGPU1\t", "GPU5\t"),
    ),
    "nvlink.fabric-ready": Sample(
        H100_FABRIC,
        {"services": FM_UNIT, "gpus": eight()},
        {
            "service-dead": Bad({"services": DEAD_UNIT}, FAIL, "nvidia-fabricmanager running"),
            "in-progress": Bad({"gpus": eight(state="In Progress")}, FAIL, "In Progress"),
            "failure": Bad({"gpus": eight(status="Failure")}, FAIL, "status Success"),
            "degraded": Bad({"gpus": eight(summary="Unhealthy", route_unhealthy="True")}, FAIL, "Unhealthy"),
            "route": Bad({"gpus": eight(route_unhealthy="True")}, FAIL, "route_unhealthy"),
            "lost": Bad({"gpus": eight(state="GPU is lost")}, FAIL, "GPU is lost"),
            "not-said": Bad({"gpus": eight(state="N/A")}, UNKNOWN, "state Completed"),
        },
        (
            "<state>",
            "<status>",
            "<summary>",
            "<bandwidth>",
            "<route_unhealthy>",
            "ActiveState",
            "SubState",
            "LoadState",
        ),
    ),
    "ib.ports-active": Sample(
        ports_active.Expected(ports=8, rate_gbit_s=400),
        sysfs(),
        {
            "no-subnet-manager": Bad(sysfs(state="2: INIT"), FAIL, "no subnet manager"),
            "slow": Bad(sysfs(rate="200 Gb/sec (2X NDR)"), FAIL, "got 200"),
            "seven": Bad(sysfs(adapters=7), FAIL, "8 compute ports, got 7"),
            "nine": Bad(sysfs(adapters=9), UNKNOWN, "9"),
            "none": Bad({"adapters": "0\n", "tree": "", "bus": "0x15b3 0x1021 0x020700\n"}, UNKNOWN, "no adapter"),
        },
        ("mlx5_0/ports/1/state", "mlx5_0/ports/1/rate", "mlx5_0/ports/1/phys_state", "mlx5_0/ports/1/link_layer"),
    ),
    "model.checksum": Sample(
        checksum.Expected(subject="echo", manifest_sha256=C),
        {
            "manifest_sha256": f"{C}  -\n",
            "manifest": f"{A}  config.json\n{B}  model.safetensors\n",
            "files": f"{B}  ./model.safetensors\n{A}  ./config.json\n",
            "strange": f"{checksum.OTHER_TYPES}\n",
        },
        {
            "other-manifest": Bad({"manifest_sha256": f"{A}  -\n"}, FAIL, "manifest cccc"),
            "changed": Bad({"files": f"{C}  ./model.safetensors\n{A}  ./config.json\n"}, FAIL, "model.safetensors"),
            "missing": Bad({"files": f"{A}  ./config.json\n"}, FAIL, "no such file"),
            "extra": Bad({"files": f"{B}  ./model.safetensors\n{A}  ./config.json\n{A}  ./run.py\n"}, FAIL, "run.py"),
            "link": Bad({"strange": f"{checksum.OTHER_TYPES}\n./model.safetensors\n"}, FAIL, "only files"),
        },
        ("config.json", "./config.json", "model.safetensors", checksum.OTHER_TYPES),
    ),
    "software.environment-files": Sample(
        environment_files.Expected(subject="vllm", root="/opt/sovctl/vllm-0123456789ab", manifest_sha256=C),
        {"files": environment_tree()},
        {
            "other-manifest": Bad({"files": environment_tree(manifest_sha256=A)}, FAIL, "manifest cccc"),
            "no-manifest": Bad({"files": environment_tree(manifest_sha256=None)}, FAIL, "got None"),
            "changed": Bad({"files": environment_tree(changed=["lib/a.py: content"])}, FAIL, "lib/a.py: content"),
            "other-folder": Bad({"files": environment_tree(root="/tmp/vllm")}, FAIL, "got /tmp/vllm"),
        },
        ("manifest_sha256", "changed", "root"),
    ),
    "pool.flags-as-planned": Sample(
        POOL,
        {"unit": POOL_UNIT, "process": pool_process(), "config": POOL_CONFIG, "api": pool_api()},
        {
            "changed-file": Bad({"config": POOL_CONFIG.replace("512", "256")}, FAIL, "max-model-len 512, got '256'"),
            "added-to-file": Bad({"config": f"{POOL_CONFIG}api-key: (secret)\n"}, FAIL, "api-key"),
            "runs-another-value": Bad(
                {"process": pool_process(argv=POOL_ARGV.replace("512", "256"))}, FAIL, "got 'max-model-len 256'"
            ),
            "runs-more": Bad({"process": pool_process("--enable-log-requests")}, FAIL, "enable-log-requests"),
            "runs-fewer": Bad(
                {"process": pool_process(argv=POOL_ARGV.replace("--enforce-eager ", ""))}, FAIL, "enforce-eager in"
            ),
            "file-on-command-line": Bad({"process": pool_process("--config /tmp/x.yaml")}, FAIL, "config /tmp/x.yaml"),
            "another-program": Bad({"process": pool_process(argv="sleep 1000")}, FAIL, "vllm serve"),
            "added-variable": Bad(
                {"process": pool_process(environment={"HF_HUB_OFFLINE": "1", "LD_PRELOAD": "/tmp/x.so"})},
                FAIL,
                "LD_PRELOAD",
            ),
            "without-variable": Bad({"process": pool_process(environment={})}, FAIL, "HF_HUB_OFFLINE=1, got 'not set'"),
            "old-engine": Bad({"process": pool_process(folders=["/opt/sovctl/vllm-old"])}, FAIL, "vllm-old"),
            "removed-engine": Bad({"process": pool_process(folders=[f"{POOL.engine} (deleted)"])}, FAIL, "(deleted)"),
            "no-process": Bad({"process": lines({"unit": "sovctl-pool-chat.service", "pid": 0})}, UNKNOWN, "a process"),
            "another-release": Bad({"api": pool_api(version="0.31.0")}, FAIL, "vLLM 0.32.0, got '0.31.0'"),
            "another-length": Bad({"api": pool_api(length=256)}, FAIL, "max-model-len 512 in /v1/models"),
            "another-share": Bad({"api": pool_api(share="0.5")}, FAIL, "gpu-memory-utilization 0.92"),
            "another-model": Bad({"api": pool_api(extra="/tmp/x")}, FAIL, "models echo"),
            "moved-model": Bad({"api": pool_api(echo="/tmp/x")}, FAIL, "echo from /srv/sovctl/models/echo"),
            "silent-api": Bad({"api": lines({"path": "/version", "error": "TimeoutError: "})}, UNKNOWN, "/version"),
            "stopped": Bad({"unit": STOPPED_UNIT}, FAIL, "running"),
        },
        ("MainPID", "ActiveState", "SubState", "LoadState", "max-model-len", "enforce-eager", "argv", "/version"),
    ),
    "pool.probe-answers": Sample(
        POOL,
        {"probe": '{"ok": true, "latency_ms": 41}\n'},
        {
            "silent": Bad({"probe": (1, '{"ok": false, "error": "TimeoutError: timed out"}\n')}, FAIL, "TimeoutError"),
            "says-ok-but-fails": Bad({"probe": (1, '{"ok": true, "latency_ms": 41}\n')}, UNKNOWN, "exit code 1"),
            "no-time": Bad({"probe": '{"ok": true}\n'}, UNKNOWN, "latency_ms"),
        },
        ("ok",),
    ),
    "pool.tls-client-certificate-required": Sample(
        POOL,
        {"doors": doors()},
        {
            "open": Bad({"doors": doors(no_certificate="http 200")}, FAIL, "http 200"),
            "plain-http": Bad({"doors": doors(plain="http 404")}, FAIL, "plain"),
            "nobody-home": Bad({"doors": doors(certificate="refused", no_certificate="refused")}, UNKNOWN, "refused"),
            "slow": Bad({"doors": doors(no_certificate="timeout")}, UNKNOWN, "timeout"),
        },
        ('"certificate"', '"no-certificate"', '"plain"'),
    ),
    "pool.unauthenticated-paths-closed": Sample(
        POOL,
        {"doors": doors()},
        {
            "invocations": Bad({"doors": doors(invocations="http 401")}, FAIL, "/invocations"),
            "nobody-home": Bad({"doors": doors(certificate="refused")}, UNKNOWN, "refused"),
        },
        ('"certificate"', "/invocations", "/tokenize", "/metrics"),
    ),
    "pool.offline-settings": Sample(
        POOL,
        {"unit": POOL_UNIT, "environment": POOL_ENVIRONMENT},
        {
            "calls-home": Bad({"environment": "variables 22\nHF_HUB_OFFLINE=1\n"}, FAIL, "VLLM_NO_USAGE_STATS"),
            "developer": Bad(
                {"environment": f"{POOL_ENVIRONMENT}VLLM_SERVER_DEV_MODE=1\n"}, FAIL, "VLLM_SERVER_DEV_MODE"
            ),
            "no-environment": Bad({"environment": "variables 0\n"}, UNKNOWN, "variables"),
            "stopped": Bad({"unit": STOPPED_UNIT}, FAIL, "running"),
        },
        ("HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS", "variables", "MainPID", "SubState"),
    ),
    "gateway.answers": Sample(
        GATEWAY,
        {"ask": chats()},
        {
            "refused": Bad({"ask": chats(status=503, has_text=False)}, FAIL, "status 503 without text"),
            "empty": Bad({"ask": chats(has_text=False)}, FAIL, "without text"),
            "no-answer": Bad({"ask": lines({"error": "ConnectionRefusedError"})}, UNKNOWN, "ConnectionRefusedError"),
        },
        ("assistant", "private"),
    ),
    "gateway.rejects-without-key": Sample(
        GATEWAY,
        {"ask": knocks()},
        {
            "lets-in": Bad({"ask": knocks(no_key=200)}, FAIL, "401 with no key, got 200"),
            "lets-guess": Bad({"ask": knocks(wrong_key=200)}, FAIL, "wrong key"),
            "down": Bad({"ask": knocks(healthz=503)}, UNKNOWN, "/healthz"),
        },
        ("healthz", "no key", "wrong key", "models without key"),
    ),
    "gateway.vault-encrypted": Sample(
        GATEWAY,
        {"ask": sealed()},
        {
            "readable": Bad({"ask": sealed(copies=2)}, FAIL, "got 2"),
            "nothing-stored": Bad({"ask": sealed(rows_after=4)}, UNKNOWN, "more than 4 rows"),
            "stayed-here": Bad({"ask": sealed(route="pool")}, UNKNOWN, "no value was encrypted"),
            "open-file": Bad(
                {"ask": sealed(open_files=["/var/lib/sovctl/gateway/vault.db"])}, FAIL, "not readable for other users"
            ),
        },
        ("rows_after",),
    ),
    "gateway.ledger-verifies": Sample(
        _ledger.Expected(program="/opt/sovctl/gateway/bin/sovctl", directory="/var/lib/x", origin="sovctl.lab/site"),
        {"verify": ledger()},
        {
            "cut": Bad({"verify": (1, ledger(is_whole=False, findings=[{"kind": "cut-tail"}]))}, FAIL, "cut-tail"),
            "another-log": Bad({"verify": ledger(origin="sovctl.other/site")}, FAIL, "sovctl.other/site"),
            "empty": Bad({"verify": ledger(entries=0, signed_size=0)}, UNKNOWN, "0 entries"),
            "disagrees": Bad({"verify": (1, ledger())}, UNKNOWN, "exit code 0"),
        },
        ("is_whole", "origin", "entries", "signed_size"),
    ),
    "gateway.audit-record-per-request": Sample(
        GATEWAY,
        {"ask": recorded()},
        {
            "none": Bad({"ask": recorded(records={})}, FAIL, "gateway.request of the request, got 0"),
            "twice": Bad({"ask": recorded(records={"gateway.request": 2, "gateway.answer": 1})}, FAIL, "got 2"),
            "half": Bad(
                {"ask": recorded(records={"gateway.request": 1})}, FAIL, "gateway.answer of the request, got 0"
            ),
            "text": Bad({"ask": recorded(texts=1)}, FAIL, "1 entries with the text"),
            "not-counted": Bad({"ask": recorded(texts=None)}, UNKNOWN, "counts"),
            "no-id": Bad({"ask": recorded(request_id=None)}, UNKNOWN, "with an id"),
        },
        ("records",),
    ),
    "site.keys-private": Sample(
        keys_private.Expected(
            files=(
                PrivateFile("/etc/sovctl/tls/node.key", GROUP_MAY_READ, owner=0),
                PrivateFile("/etc/sovctl/secrets/vault.kek", owner=964),
            )
        ),
        {"self": "0\n", "files": "640 0 /etc/sovctl/tls/node.key\n600 964 /etc/sovctl/secrets/vault.kek\n600 0 /k/x\n"},
        {
            "for-all": Bad({"files": "644 0 /etc/sovctl/tls/node.key\n"}, FAIL, "mode 0644"),
            "group-may-write": Bad({"files": "660 0 /etc/sovctl/tls/node.key\n"}, FAIL, "mode 0660"),
            "group-may-read": Bad({"files": "640 964 /etc/sovctl/secrets/vault.kek\n"}, FAIL, "mode 0640"),
            "another-owner": Bad({"files": "640 1000 /etc/sovctl/tls/node.key\n"}, FAIL, "user 1000"),
            "absent": Bad(
                {"files": "absent - /etc/sovctl/tls/node.key\n600 964 /etc/sovctl/secrets/vault.kek\n"},
                UNKNOWN,
                "no such file",
            ),
        },
        ("/etc/sovctl/tls/node.key", "/etc/sovctl/secrets/vault.kek"),
    ),
}
SAMPLES["site.root-certificate-lasts"] = Sample(
    root_certificate_lasts.Expected(
        file="/s/pki/ca.pem", needed_until=date(2027, 12, 24), wanted_until=date(2028, 12, 23)
    ),
    {"certificate": root_certificate(2026)},
    {
        "last-year": Bad({"certificate": root_certificate(2017)}, FAIL, "replace it now"),
        "last-but-one": Bad({"certificate": root_certificate(2018)}, WARN, "plan to replace it"),
        "key": Bad({"certificate": "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"}, UNKNOWN, "in PEM"),
    },
    ("BEGIN CERTIFICATE", "END CERTIFICATE"),
)
SAMPLES["site.ledger-verifies"] = SAMPLES["gateway.ledger-verifies"]
SAMPLES["plan.empty-after-apply"] = Sample(
    empty_after_apply.Expected(program="/bin/sovctl", site_file="/site.yaml", state="/state", nodes=("n1", "n2")),
    {"plan": json.dumps({"changes": [], "facts_sha256": {"n1": "a", "n2": "b"}})},
    {
        "change-left": Bad(
            {"plan": json.dumps({"changes": [{"id": "n1/pool/chat"}], "facts_sha256": {"n1": "a", "n2": "b"}})},
            FAIL,
            "n1/pool/chat",
        ),
        "node-not-observed": Bad({"plan": json.dumps({"changes": [], "facts_sha256": {"n1": "a"}})}, UNKNOWN, "n2"),
    },
    ("changes", "facts_sha256"),
)
SAMPLES["plan.nothing-unmanaged"] = Sample(
    nothing_unmanaged.Expected(things=("true",), accounts=("true",), allowed=("/etc/agent/*",), is_refused=True),
    {"things": '[["file", "/etc/agent/x", "of no package"]]\n', "accounts": "[]\n"},
    {
        "a-file": Bad({"things": '[["file", "/etc/x", "of no package"]]\n'}, FAIL, "no file /etc/x, got of no package"),
        "an-account": Bad({"accounts": '[["user", "bob", "has user id 0"]]\n'}, FAIL, "no user bob, got has user id 0"),
        "another-form": Bad({"things": '{"file": "/etc/x"}\n'}, UNKNOWN, "a JSON list of kind"),
        "a-row-that-is-cut": Bad({"accounts": '[["user", "bob"]]\n'}, UNKNOWN, "a JSON list of kind"),
        "no-database": Bad({"things": (1, "")}, UNKNOWN, "exit code 0 of things"),
    },
    ("of no package", "[]"),
)


def self_check(**leaving: str) -> str:
    """What the gateway's `check --json` prints."""
    return json.dumps([{"check": "keys", "verdict": "PASS", "detail": "ok"}, {"check": "leaving", **leaving}])


SAMPLES["gateway.only-tokens-leave"] = Sample(
    only_tokens_leave.Expected(config="/etc/sovctl/gateway.yaml"),
    {"check": self_check(verdict="PASS", detail="EMAIL, IBAN leave as tokens; PERSON leave not at all")},
    {
        "value-leaves": Bad({"check": self_check(verdict="FAIL", detail="expected a token for IBAN")}, FAIL, "IBAN"),
        "not-tried": Bad({"check": self_check(verdict="UNKNOWN", detail="the check itself failed")}, UNKNOWN, "itself"),
    },
    ("verdict",),
)
