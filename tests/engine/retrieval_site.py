"""The lab's site with retrieval, and invented files."""

from __future__ import annotations

from pathlib import Path

import yaml
from example_sites import with_invented_files
from retrieval_values import retrieval_values

from sovctl.engine.site.site import Site


def retrieval_site(folder: Path) -> Site:
    """A site with invented files in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(yaml.safe_dump(retrieval_values(), sort_keys=False))
    return with_invented_files(folder)
