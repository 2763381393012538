"""Finders that take their time: a site's own models, each in a thread of its own, and a second look by a pool.

They are asked after the detector, and only where their findings could change something: see `dispatch`. One that
fails, is busy or takes too long keeps its request on-prem. A gateway without any pays nothing.
"""

from .dispatch import InspectionUpdate, run_model_finders
from .llm_review import LlmReview
from .model_finder import OF_THE_REQUEST, ModelFinder, ModelFinderFailed
from .name_model import NameModel, load_models

__all__ = [
    "OF_THE_REQUEST",
    "InspectionUpdate",
    "LlmReview",
    "ModelFinder",
    "ModelFinderFailed",
    "NameModel",
    "load_models",
    "run_model_finders",
]
