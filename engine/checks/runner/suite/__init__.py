"""The testinfra suite that proves a site; run by `sovctl verify`, or by hand with pytest."""
