"""Settings of every test: Ctrl-C works in the processes they start, and Hypothesis tries the same examples each time.

- Hypothesis sets no deadline, because cores are shared. It tries a sample of the examples; `make test-all` tries all of
  them (`tests/examples.py`). Other examples: `pytest -m "hypothesis and not lab" --hypothesis-profile=search`.
- A shell that runs a job in the background makes the job and its children ignore SIGINT; here SIGINT is restored.
- The objects of all collected tests are left out of garbage collection, because each full collection takes 0.5 s with
  them. Collection is off while tests are collected.
- Python caches compiled files also where a container image disables it, because tests start sovctl many hundred times.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from examples import IS_COMPLETE

if TYPE_CHECKING:
    from lab_site import SharedLab

settings.register_profile("sample", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("complete", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("complete" if IS_COMPLETE else "sample")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLab]:
    """Yield the lab of all lab tests; it starts when a test file requests a state, and is removed at the end."""
    from lab_site import SharedLab  # only lab tests need it

    lab = SharedLab(tmp_path_factory.mktemp("lab"))
    try:
        yield lab
    finally:
        lab.down()
