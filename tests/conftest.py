"""What holds for every test: Ctrl-C works in what they start, whoever started them.

A shell that runs a job in the background makes it ignore SIGINT, and every child inherits that.
"""

import signal
import threading

if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
