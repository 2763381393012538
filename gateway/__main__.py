"""Entry point of `python -m sovctl.gateway`; `sovctl gateway` runs the same commands."""

import sys

from sovctl.support.processes.keyboard_interrupt import exit_on_interrupt

if __name__ == "__main__":
    with exit_on_interrupt():
        from .commands.main import main
    sys.exit(main())
