"""Templates of pages that need nothing from anywhere; every value in them is escaped.

page_template("report", "report.html.j2").render(document=document)
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


@cache
def page_template(folder: str, name: str) -> Template:
    """The template `name` in that folder of ours."""
    environment = Environment(
        loader=FileSystemLoader(Path(str(files("sovctl"))) / "templates" / folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
