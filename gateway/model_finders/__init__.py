"""Finders that call a model: a site's own name models, each in its own thread, and the LLM review by a pool.

They run after the detector, and only if their findings could change the decision: see `dispatch`. If a finder fails,
is busy or times out, the request stays on-prem. A gateway without model finders has no overhead.

Screens classify texts, for example as prompt injections; they run after the finders, with an action for each route.
"""

from .dispatch import InspectionUpdate, run_model_finders
from .llm_review import LlmReview
from .model_finder import OF_THE_REQUEST, ModelFinder, ModelFinderFailed
from .name_model import NameModel, load_models
from .screen import Screen, load_screens
from .screening import blocks_if_unread, run_screens

__all__ = [
    "OF_THE_REQUEST",
    "InspectionUpdate",
    "LlmReview",
    "ModelFinder",
    "ModelFinderFailed",
    "NameModel",
    "Screen",
    "blocks_if_unread",
    "load_models",
    "load_screens",
    "run_model_finders",
    "run_screens",
]
