"""Cases of the checks of nccl."""

from __future__ import annotations

from benchmark_samples import GIB, nccl_log, nccl_test
from check_cases.case import FAIL, UNKNOWN, Bad, Sample, lines

from sovctl.engine.checks.definitions.nccl import _group, _one_node

NODE = _one_node.Expected(
    nodes=("n1",), gpus=8, payload_bytes=16 * GIB, minimum_gb_s=460, without_nvls_gb_s=367, needs_nvls=True
)
UNKNOWN_BOARD = "none in the catalogue"


def run(last: float = 475.0, *, log: str | None = None, **changes: object) -> str:
    """One run of 2, 4, 8 and 16 GiB, and the lines of NCCL."""
    test = nccl_test((300.0, 390.0, 440.0, last), largest=16 * GIB, **changes)  # type: ignore[arg-type]
    return test + (nccl_log() if log is None else log)


def runs(*texts: str | tuple[int, str]) -> dict[str, str | tuple[int, str]]:
    """The three runs; the last text is that of the others."""
    return {f"run{number}": texts[min(number, len(texts)) - 1] for number in (1, 2, 3)}


OFF = nccl_log(channels=0, has_multicast=False)
TOO_FEW = "Invalid number of GPUs: 8 requested but only 7 were found.\n"
WRONG = (1, run(wrong="5"))
COMMON = {
    "missing-gpu": Bad(runs((3, TOO_FEW)), FAIL, "8 GPUs for NCCL, got 7 found"),
    "seven-gpus": Bad(runs(run(ranks=7)), FAIL, "8 GPUs for NCCL, got 7 in 7 ranks"),
    "other-factor": Bad(
        runs(nccl_test((475.0,), ranks=4, largest=16 * GIB).replace("Rank  4", "Rank  0")), FAIL, "got 4 in 4 ranks"
    ),
    "no-ranks": Bad(
        runs("".join(line for line in run().splitlines(keepends=True) if "Rank" not in line)), UNKNOWN, "8 ranks"
    ),
    "not-installed": Bad(runs((127, "")), UNKNOWN, "127"),
    "crashed": Bad(runs((1, run())), UNKNOWN, "exit code 0 of run1, got 1"),
    "hangs-once": Bad({"run2": (124, "")}, UNKNOWN, "124"),
}
SUMMARY = ("# Out of bounds values", "# Avg bus bandwidth", "17179869184    4294967296", "Rank  3")

GROUP = _group.Expected(
    subject="compute/leaf1",
    nodes=("n1", "n2"),
    addresses=("10.0.0.1", "10.0.0.2"),
    gpus=8,
    payload_bytes=16 * GIB,
    minimum_gb_s=440,
    without_nvls_gb_s=191,
)


def ranks(*rates: float, wrong: int = 0, count: int = 16, **changes: object) -> str:
    """Output of rank 0 with the bus bandwidths of three runs."""
    head = {"torch": "2.9.0", "nccl": "2.27.3", "ranks": count, "devices": ["NVIDIA H100 80GB HBM3"]}
    size = 16 * GIB
    rows = [
        {"run": number, "size_bytes": size, "time_us": size / rate / 1000 * 2 * (count - 1) / count, "wrong": wrong}
        for number, rate in enumerate(rates, start=1)
    ]
    return lines(head | changes, *rows)


def group_sample() -> Sample:
    """Cases of a check of several nodes."""
    return Sample(
        GROUP,
        {"ranks-of-n1": ranks(487.0, 486.0, 488.0), "ranks-of-n2": lines({"node": 1, "ended": 8})},
        {
            "slow": Bad({"ranks-of-n1": ranks(487.0, 191.0, 190.0)}, FAIL, "at least 440 GB/s between n1, n2, got 191"),
            "slow-link": Bad({"ranks-of-n1": ranks(402.0, 401.0, 400.0)}, FAIL, "400.0, 401.0, 402.0)"),
            "without-imex": Bad({"ranks-of-n1": ranks(191.0, 191.0, 190.0)}, FAIL, "multi-node NVLink is off"),
            "wrong": Bad({"ranks-of-n1": ranks(487.0, 486.0, 488.0, wrong=3)}, FAIL, "0 wrong values between n1, n2"),
            "fewer-ranks": Bad({"ranks-of-n1": ranks(487.0, 486.0, 488.0, count=8)}, UNKNOWN, "8 ranks"),
            "two-models": Bad(
                {"ranks-of-n1": ranks(487.0, 486.0, 488.0, devices=["NVIDIA H100", "NVIDIA H200"])}, FAIL, "one model"
            ),
            "without-nccl": Bad({"ranks-of-n1": ranks(487.0, 486.0, 488.0, nccl=None)}, UNKNOWN, "a version of NCCL"),
            "two-runs": Bad({"ranks-of-n1": ranks(487.0, 486.0)}, UNKNOWN, "3 runs"),
            "other-node-has-fewer": Bad({"ranks-of-n2": lines({"node": 1, "ended": 7})}, UNKNOWN, "the ranks of n2"),
            "other-node-ended": Bad({"ranks-of-n2": (1, "")}, UNKNOWN, "the ranks of n2"),
            "no-gpus": Bad({"ranks-of-n1": (1, "")}, UNKNOWN, "exit code 0 of ranks-of-n1"),
        },
        ("torch", '"run": 1', '"run": 3'),
    )


SAMPLES = {
    "nccl.one-node-bandwidth": Sample(
        NODE,
        runs(run()),
        COMMON
        | {
            "slow": Bad(runs(run(402.0)), FAIL, "at least 460 GB/s at 16 GiB, got 402"),
            "median-is-slow": Bad(runs(run(), run(455.0)), FAIL, "got 455 (median of 455, 455, 475)"),
            "ring": Bad(runs(run(368.0, log=OFF)), FAIL, "NVLink SHARP is off"),
            "ring-without-log": Bad(runs(run(368.0, log="")), FAIL, "NVLink SHARP is off"),
            "disabled": Bad(
                runs(run(368.0, log=OFF + "n1:7:7 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n")),
                FAIL,
                "NCCL_NVLS_ENABLE=0",
            ),
            "smaller-payload": Bad(runs(nccl_test((470.0,), largest=8 * GIB)), UNKNOWN, "one row of 17179869184 bytes"),
        },
        SUMMARY,
    ),
    "nccl.results-correct": Sample(
        NODE,
        runs(run()),
        COMMON
        | {
            "wrong": Bad(runs(WRONG), FAIL, "got 40 in 4 of 4 payloads"),
            "wrong-once": Bad(runs(run(), WRONG, run()), FAIL, "0 wrong values"),
            "wrong-with-exit-code-0": Bad(runs(run(wrong="1")), FAIL, "got 8 in 4"),
            "not-compared": Bad(runs(run(wrong="N/A")), UNKNOWN, "a comparison"),
        },
        SUMMARY,
    ),
    "nccl.nvls-used": Sample(
        NODE,
        runs(run()),
        {name: COMMON[name] for name in ("missing-gpu", "not-installed", "crashed", "hangs-once")}
        | {
            "off": Bad(runs(run(log=OFF)), FAIL, "multicast not available on GPUs 0, 1"),
            "no-channels": Bad(runs(run(log=nccl_log(channels=0))), FAIL, "got 0"),
            "off-once": Bad(runs(run(), run(log=OFF), run()), FAIL, "channels of NVLink SHARP"),
            "silent": Bad(runs(run(log="")), UNKNOWN, "lines of NCCL"),
        },
        (),
    ),
    "nccl.leaf-bandwidth": group_sample(),
    "nccl.all-nodes-bandwidth": group_sample(),
}
