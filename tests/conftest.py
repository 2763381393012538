"""What holds for every test: Ctrl-C works in what they start, and the time of one example says nothing.

A shell that runs a job in the background makes it ignore SIGINT, and every child inherits that. Cores are shared, so
Hypothesis sets no deadline. Tests start our commands many hundred times: they are compiled once, also where a container
image says that nothing is.
"""

import os
import signal
import sys
import threading

from hypothesis import settings

settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
