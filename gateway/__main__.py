"""`python -m sovctl.gateway`: see `command`, which `sovctl gateway` runs too."""

import sys

from sovctl.support.keyboard_interrupt import ends_quietly

if __name__ == "__main__":
    with ends_quietly():
        from .commands.main import main
    sys.exit(main())
