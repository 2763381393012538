"""HTML templates without external resources. All values are escaped.

page_template("report", "report.html.j2").render(document=document)
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def page_template(folder: str, name: str) -> Template:
    """Return the template `name` of a folder of `templates/`."""
    environment = Environment(
        loader=FileSystemLoader(Path(str(files("sovctl"))) / "templates" / folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
