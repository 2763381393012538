"""The templates of sovctl: `compliance/document_templates/NAME.yaml`."""

from __future__ import annotations

from functools import cache

from sovctl.support.errors import InputError, SpecError
from sovctl.support.package_files import package_folder
from sovctl.support.strict_yaml import read_file
from sovctl.support.suggestions import nearest

from .template import Template, template_of

FOLDER = package_folder("compliance/document_templates")


def template_names() -> tuple[str, ...]:
    """Return the names of the documents, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def load_template(name: str) -> Template:
    """Return the template of a document.

    Raises:
        InputError: unknown name.
        SpecError: all problems of the file.
    """
    names = template_names()
    if name not in names:
        near = nearest(name, list(names))
        hint = f"did you mean {near}?" if near else f"documents: {', '.join(names)}"
        raise InputError(f"unknown document {name}", where="--document", hint=hint)
    path = FOLDER / f"{name}.yaml"
    text = read_file(path, what="the template of a document")
    found, problems = template_of(text.value, stem=name)
    if found is None or problems or text.problems:
        raise SpecError([text.placed(path, each) for each in [*text.problems, *problems]], what=f"document {name}")
    return found
