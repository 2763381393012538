"""Program that resolves packages with the Python API of dnf 4; runs with the system's Python, which has dnf.

Request on standard input: {"folder", "releasever", "arch", "repositories": {id: options}, "roots", "only", "offline"}
Answer on standard output: {"version", "packages": [...], "problems": [text], "indexes": {id: SHA-256 of repomd.xml}}
`only` has the permitted packages as `name-epoch:version-release.arch`; null permits all. `offline` uses the cache only.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import dnf  # type: ignore[import-not-found]
import hawkey  # type: ignore[import-not-found]


def configured(request: dict[str, Any]) -> Any:
    """Return a base without any file of the builder."""
    base, folder = dnf.Base(), request["folder"]
    for name in ("root", "cache", "log", "persist"):
        (Path(folder) / name).mkdir(exist_ok=True)
    settings = {
        "installroot": f"{folder}/root",
        "cachedir": f"{folder}/cache",
        "logdir": f"{folder}/log",
        "persistdir": f"{folder}/persist",
        "reposdir": [f"{folder}/none"],
        "varsdir": [f"{folder}/none"],
        "pluginpath": [],
        "install_weak_deps": False,
        "cacheonly": request["offline"],
        "metadata_expire": -1 if request["offline"] else 0,
        "best": True,
    }
    for name, value in settings.items():
        setattr(base.conf, name, value)
    for name in ("arch", "basearch"):
        base.conf.substitutions[name] = request["arch"]
    base.conf.substitutions["releasever"] = request["releasever"]
    for name, options in sorted(request["repositories"].items()):
        base.repos.add_new_repo(name, base.conf, **options)
    return base


def solve(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    base, problems, packages = configured(request), [], []
    try:
        base.fill_sack(load_system_repo=False)
        if request["only"] is not None:
            permitted = set(request["only"])
            others = [each for each in base.sack.query() if full_name(each) not in permitted]
            base.sack.add_excludes(base.sack.query().filter(pkg=others))
        for root in request["roots"]:
            try:
                base.install(root)
            except dnf.exceptions.MarkingError:
                problems.append(f"no package {root}")
        if not problems:
            base.resolve()
            packages = [row(each) for each in sorted(base.transaction.install_set)]
    except (dnf.exceptions.DepsolveError, dnf.exceptions.RepoError) as error:
        problems += [" ".join(str(error).split())]
    indexes = {
        repo.id: hashlib.sha256(path.read_bytes()).hexdigest()
        for repo in base.repos.iter_enabled()
        for path in sorted(Path(base.conf.cachedir).glob(f"{repo.id}-*/repodata/repomd.xml"))
    }
    return {"version": dnf.VERSION, "packages": packages, "problems": problems, "indexes": indexes}


def full_name(package: Any) -> str:
    """Return `name-epoch:version-release.arch`."""
    return f"{package.name}-{package.epoch}:{package.version}-{package.release}.{package.arch}"


def row(package: Any) -> dict[str, Any]:
    """Return the values of a package."""
    kind, digest = package.chksum
    return {
        "name": package.name,
        "version": f"{package.epoch}:{package.version}-{package.release}".removeprefix("0:"),
        "arch": package.arch,
        "full_name": full_name(package),
        "file": package.location.rpartition("/")[2],
        "size": package.downloadsize,
        "checksum": hawkey.chksum_name(kind),
        "digest": digest.hex(),
        "url": package.remote_location(),
        "licence": package.license,
        "repository": package.repoid,
    }


if __name__ == "__main__":
    json.dump(solve(json.load(sys.stdin)), sys.stdout)
