"""Latency limits and lengths of MLPerf tasks, which the measurements do not contain.

    ITL_LIMITS_S["llama-2-70b", "mlperf_interactive"]     # 0.04
    ANSWER_TOKENS["gpt-oss-120b"]

Limits are the 99th percentile of the time between tokens over all requests, in seconds. Submitters raise the rate until
it is reached, so the limit is a property of the task.
Source: `mlperf.conf` of MLCommons' load generator, v5.1, `tpot_latency`, read 2026-11-22; gpt-oss-120b, new in v6.0,
from the rules of that round as quoted by a third party (community, read 2026-11-22).
"""

from __future__ import annotations

ITL_LIMITS_S = {
    ("llama-2-70b", "mlperf_server"): 0.2,
    ("llama-2-70b", "mlperf_interactive"): 0.04,
    ("llama-3.1-405b", "mlperf_server"): 0.175,
    ("llama-3.1-405b", "mlperf_interactive"): 0.08,
    ("llama-3.1-8b", "mlperf_server"): 0.1,
    ("llama-3.1-8b", "mlperf_interactive"): 0.03,
    ("deepseek-r1", "mlperf_server"): 0.08,
    ("deepseek-r1", "mlperf_interactive"): 0.015,
    ("mixtral-8x7b", "mlperf_server"): 0.2,
    ("gpt-oss-120b", "mlperf_server"): 0.08,
    ("gpt-oss-120b", "mlperf_interactive"): 0.02,
}

# Mean output tokens of the performance run, which a submission must meet within 10 %: compliance test TEST09 in
# `language/gpt-oss-120b/README.md` of mlcommons/inference (vendor, read 2026-11-22).
ANSWER_TOKENS = {"gpt-oss-120b": 1278.2}
