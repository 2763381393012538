"""`python -m sovctl.cli`: the same as `sovctl`."""

from sovctl.cli.main import main

main()
