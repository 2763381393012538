"""Finders that take their time: a site's own models, each in a thread of its own, and a second look by a pool.

They are asked after the detector, and only where their findings could change something: see `closer_look`. One that
fails, is busy or takes too long keeps its request on-prem. A gateway without any pays nothing.
"""

from .dispatch import Looked, look_closer
from .llm_review import SecondLook
from .model_finder import OF_THE_REQUEST, SlowFinder, SlowFinderFailed
from .name_model import NameModel, load_models

__all__ = [
    "OF_THE_REQUEST",
    "Looked",
    "NameModel",
    "SecondLook",
    "SlowFinder",
    "SlowFinderFailed",
    "load_models",
    "look_closer",
]
