"""Build hook that gives the top-level folders one import name.

The repository keeps `cli/`, `engine/`, `gateway/` and so on at its top, as the owner asked. Installed, they are
`sovctl.cli`, `sovctl.engine`, ...: no bare top-level package is ever importable. A wheel gets that from `sources`
in pyproject.toml. An editable install cannot rewrite paths (pypa/hatch issue 1162), so this hook builds a folder of
links, `build/dev/sovctl`, and hatchling points the install at it.
"""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Package(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        root = Path(self.root)
        package = root / "build" / "dev" / "sovctl"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(f'__version__ = "{self.metadata.version}"\n')
        (package / "py.typed").touch()
        if version == "standard":  # a wheel; `sources` puts these two in sovctl/
            for name in ("__init__.py", "py.typed"):
                build_data["force_include"][str(package / name)] = name
            return
        for name in self.build_config.target_config["only-include"]:
            if not (package / name).is_symlink():
                (package / name).symlink_to(os.path.relpath(root / name, package))
