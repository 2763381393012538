"""Flags of `llama-server` for one replica.

- The server listens on a Unix socket, because it cannot require client certificates. The proxy of `../proxy.py` does.
- Prompts are not cached: a later request could measure whether another tenant sent the same text.

Source: llama.cpp 0.7.0 of Debian unstable, `llama-server --help`; run in the lab.
"""

from __future__ import annotations

from ....placement import Rank, Replica
from ....spec.serving.section import FlagValue
from ...context import Context
from ...software.model import STORE
from ..proxy import engine_socket

MODEL_FILE = "model.gguf"
"""Name of the model's file in its folder of the model store."""


def flags(context: Context, replica: Replica, _rank: Rank) -> dict[str, FlagValue]:
    """Return the flags by name."""
    pool = context.pool(replica.pool)
    return {
        "model": f"{STORE}/{pool.model}/{MODEL_FILE}",
        "alias": pool.model,
        "host": engine_socket(replica),
        "ctx-size": pool.max_model_len * pool.max_num_seqs,  # shared equally by the slots
        "parallel": pool.max_num_seqs,
        "metrics": True,
        "no-webui": True,
        "no-slots": True,  # /slots shows prompts
        "no-cache-prompt": True,
    }


def environment(context: Context, _replica: Replica, _rank: Rank) -> dict[str, str]:
    """Return the variables that the unit sets: no access to the network."""
    return dict(context.engine.variables)
