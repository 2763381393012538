"""Common code of ONNX models: a session, a tokenizer and a configuration, from the files of one folder.

The session has one thread, which is the caller's, so that a worker may be forked from a process that has opened it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.errors import InputError

from .opening import packages

_MOST_TOKENS = 512
_POSITIONS_SPARE = 2  # RoBERTa counts its positions from 2 (transformers, modeling_roberta, read 2026-11)


@dataclass(frozen=True, slots=True)
class OnnxFiles:
    """An opened folder."""

    session: Any
    tokenizer: Any
    config: Mapping[str, Any]
    first: Sequence[int]
    """Tokens before a text, such as `[CLS]`."""
    last: Sequence[int]
    """Tokens after it."""

    def run(self, ids: Sequence[int], until_s: float, **more: Any) -> Any:
        """Return the model's output for these tokens; inputs that the model does not have are omitted.

        Raises:
            TimeoutError: it is too late to ask.
            ValueError: the output contains values that are not finite.
        """
        import numpy as np

        if time.monotonic() > until_s:
            raise TimeoutError
        row = np.array([ids], dtype=np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row), **more}
        answer = self.session.run(None, {each.name: given[each.name] for each in self.session.get_inputs()})[0]
        if not np.isfinite(answer).all():
            raise ValueError("the model's scores are not finite")
        return answer[0]

    def width(self, config: Mapping[str, Any]) -> int:
        """Return the maximum number of tokens per call, without `first` and `last`.

        Args:
            config: of the encoder.
        """
        most: int = min(_MOST_TOKENS, config.get("max_position_embeddings", _MOST_TOKENS) - _POSITIONS_SPARE)
        return most - len(self.first) - len(self.last)


def open_files(path: Path, config: str) -> OnnxFiles:
    """Open `model.onnx`, `tokenizer.json` and the configuration in a folder.

    Args:
        config: the name of that file.

    Raises:
        InputError: a package or a file is missing.
        Exception: the files are something else.
    """
    for name in ("model.onnx", "tokenizer.json", config):
        if not (path / name).is_file():
            raise InputError(f"expected model.onnx, tokenizer.json and {config}, got no {name}", where=str(path))
    onnxruntime, tokenizers = packages("onnxruntime", "tokenizers", path=path)
    tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare, whole = (tokenizer.encode("a", add_special_tokens=is_whole).ids for is_whole in (False, True))
    begin = next(at for at in range(len(whole)) if whole[at : at + len(bare)] == bare)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return OnnxFiles(
        session=onnxruntime.InferenceSession(str(path / "model.onnx"), options, providers=["CPUExecutionProvider"]),
        tokenizer=tokenizer,
        config=json.loads((path / config).read_text(encoding="utf-8")),
        first=whole[:begin],
        last=whole[begin + len(bare) :],
    )
