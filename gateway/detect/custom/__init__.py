"""A site's own recognizers: patterns that are checked when the settings are loaded, context words, and checksums.

`compile.custom_finder` checks the recognizers of the settings and compiles them into one finder, which the detector
runs after the built-in ones.
"""
