"""What holds for every test: Ctrl-C works in what they start, and what passed once passes again.

A shell that runs a job in the background makes it ignore SIGINT, and every child inherits that. Cores are shared, so
Hypothesis sets no deadline. It tries the same examples each time, so that a change is judged by nothing but itself;
others, and more of them: `pytest -m "hypothesis and not lab" --hypothesis-profile=search`. Tests start our commands
many hundred times: they are compiled once, also where a container image says that nothing is.
"""

import os
import signal
import sys
import threading

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
