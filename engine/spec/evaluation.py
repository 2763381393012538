"""Questions of the site that a pool must answer before it is admitted.

evaluation: {questions_file: questions/chat.jsonl, pass_mark: 0.9}
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .types import FilePath, SpecModel


class PoolEvaluation(SpecModel):
    """Evaluation of a pool by `sovctl evaluate`, which the check `pool.evaluation` requires."""

    questions_file: FilePath
    """File with 50 to 200 questions and their answers, on the controller, relative to site.yaml."""
    pass_mark: Annotated[float, Field(ge=0.01, le=1)] = 0.9
    """Smallest fraction of correct answers."""
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] = 512
    """Maximum tokens of one answer."""
