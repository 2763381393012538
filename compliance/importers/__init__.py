"""Importers of results of other tools. Foreign results stay marked with tool, version and digest of their file."""
