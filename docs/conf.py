"""Settings of the documentation site. `make docs` builds it in `build/docs`; its search works offline."""

from __future__ import annotations

project = "sovctl"
author = "The sovctl authors"
copyright = "The sovctl authors, Apache-2.0"  # noqa: A001 - the name is given by Sphinx
root_doc = "index"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["requirements.*", "README.md"]

myst_heading_anchors = 4  # links to headings work as they do on code hosting sites
myst_fence_as_directive: list[str] = []
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = "sovctl"
html_show_sphinx = False
html_copy_source = False
