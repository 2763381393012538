"""Precision of the weights for each value of vLLM's `quantization`. Pure.

    named_precision("awq_marlin")         # Precision.INT4
    named_precision("compressed-tensors") # None: the checkpoint defines it
    named_precision("bf16")               # InputError with the nearest methods

An unknown method is an error, because the released precision could be wrong for it.
Source of the methods: vLLM `model_executor/layers/quantization/__init__.py` (read 2026-11-22).
"""

from __future__ import annotations

import difflib

from sovctl.support.errors import InputError

from .weights import Precision

METHODS: dict[str, Precision | None] = {
    "fp8": Precision.FP8,
    "ptpc_fp8": Precision.FP8,
    "fbgemm_fp8": Precision.FP8,
    "deepgemm_fp8": Precision.FP8,
    "modelopt": Precision.FP8,
    "int8": Precision.INT8,
    "awq": Precision.INT4,
    "awq_marlin": Precision.INT4,
    "gptq": Precision.INT4,
    "gptq_marlin": Precision.INT4,
    "gptq_bitblas": Precision.INT4,
    "moe_wna16": Precision.INT4,
    "modelopt_fp4": Precision.NVFP4,
    "petit_nvfp4": Precision.NVFP4,
    "nvfp4": Precision.NVFP4,
    "mxfp4": Precision.MXFP4,
    # Methods with several precisions; the checkpoint defines which.
    "compressed-tensors": None,
    "auto-round": None,
    "bitsandbytes": None,
    "gguf": None,
    "hqq": None,
    "inc": None,
    "quark": None,
    "torchao": None,
}


def named_precision(method: str) -> Precision | None:
    """Return the precision of a `quantization` method; None if the checkpoint defines it.

    Raises:
        InputError: unknown method.
    """
    if method in METHODS:
        return METHODS[method]
    near = difflib.get_close_matches(method, METHODS, n=3, cutoff=0.4)
    raise InputError(
        f"unknown quantization method `{method}`",
        hint=(f"did you mean {' or '.join(f'`{each}`' for each in near)}? " if near else "")
        + "omit it to use the precision of the checkpoint",
    )
