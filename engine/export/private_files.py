"""Init container of the gateway: secrets and data with the modes that the gateway requires.

    python private_files.py SECRETS TARGET DATA

- A volume of a Secret with a group has files that the group can read, so the secrets are copied with mode 0600.
- A kubelet gives files of a volume to the group of the pod, so the folder of the data loses the rights of others.

Standard library only: the gateway's image runs this file from a ConfigMap.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def main(secrets: Path, target: Path, data: Path) -> None:
    """Copy the files of `secrets` into the new folder `target`, and remove the rights of others from `data`."""
    target.mkdir(mode=0o700, exist_ok=True)
    for file in sorted(secrets.iterdir()):
        if not file.name.startswith(".."):  # kubelet's links to the current version
            copy = target / file.name
            copy.touch(mode=0o600)
            shutil.copyfile(file, copy)
    data.mkdir(mode=0o700, exist_ok=True)
    for path in (data, *data.rglob("*")):
        path.chmod(path.stat().st_mode & 0o700)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
