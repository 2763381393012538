"""What vLLM's `quantization` says of the weights: the precision they lie in, or nothing. Pure.

    named_precision("awq_marlin")         # Precision.INT4
    named_precision("compressed-tensors") # None: the checkpoint says it
    named_precision("bf16")               # InputError, with the nearest methods

A method that is not here is not taken for the released precision: a pool would be sized for weights it never loads.
Methods are those of vLLM `model_executor/layers/quantization/__init__.py` (read 2026-11-22).
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
    # These hold weights of several precisions; which, stands in the checkpoint.
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
    """The precision that a method of vLLM says; None where the checkpoint says it.

    Raises:
        InputError: a method that is not known here.
    """
    if method in METHODS:
        return METHODS[method]
    near = difflib.get_close_matches(method, METHODS, n=3, cutoff=0.4)
    raise InputError(
        f"expected a method of vLLM, got `{method}`",
        hint=(f"did you mean {' or '.join(f'`{each}`' for each in near)}? " if near else "")
        + "leave it out for what the checkpoint says",
    )
