"""Entry point of `python -m sovctl.gateway.retrieval.ingest`; `sovctl rag` runs the same commands."""

import sys

from sovctl.support.processes.keyboard_interrupt import exit_on_interrupt

if __name__ == "__main__":
    with exit_on_interrupt():
        from .commands import main
    sys.exit(main())
