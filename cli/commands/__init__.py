"""One module per command. Commands import at run time, because `sovctl --help` must take under 0.4 s."""
