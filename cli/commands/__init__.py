"""One module per word. Heavy imports stay inside the functions, so that `sovctl --help` is quick."""
