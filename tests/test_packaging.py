"""The wheel, as somebody gets it who has no clone: built through an sdist, installed where nothing of ours was before.

No network: the build runs without isolation, the install without an index, and dependencies are those of this
environment, made visible to the new one. That `sovctl` itself comes from the wheel is proven, not assumed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[1]
ROOMS = ("cli", "engine", "gateway", "compliance", "support", "inventory", "playbooks", "roles", "templates")
GATEWAYS_OWN = ("aiohttp", "httptools", "orjson", "presidio_analyzer", "starlette", "uvicorn", "uvloop")
"""What only `sovctl[gateway]` brings: whoever only plans must not need it."""
EXAMPLE = ROOT / "examples" / "bank-hybrid"
TIMEOUT_S = 120


@dataclass(frozen=True)
class Installed:
    """The wheel, and an environment that has it."""

    wheel: Path
    python: Path
    site_packages: Path

    @property
    def sovctl(self) -> Path:
        """The script."""
        return self.python.with_name("sovctl")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def our_files() -> list[str]:
    """Every file of the project by its path, as git sees it: without what is ignored."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    if listed.returncode != 0:
        pytest.skip("not a clone: nothing says which files are the project's")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("packaging")
    copy = folder / "copy"
    for name in our_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    built = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", copy, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    assert len(list((folder / "dist").glob("*.tar.gz"))) == 1, "the wheel is built from the sdist"
    (wheel,) = (folder / "dist").glob("*.whl")

    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    done = run(*pip, wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    site_packages = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout[:-1]
    )
    # .pth files in there, such as the one of our own editable install, are not read from here: only packages are found.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(wheel, python, site_packages)


def test_the_wheel_has_every_file_of_the_rooms_and_no_other(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    ours = {f"sovctl/{name}" for name in our_files() if name.split("/")[0] in ROOMS}
    assert names == ours | {"sovctl/__init__.py", "sovctl/py.typed"}
    assert {"sovctl/roles/pool/files/probe", "sovctl/engine/catalog/gpus.yaml", "sovctl/playbooks/apply.yml"} <= names


def test_the_wheel_keeps_who_may_be_executed(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        in_wheel = {each.filename for each in wheel.infolist() if (each.external_attr >> 16) & 0o111}
    here = {f"sovctl/{name}" for name in our_files() if name.split("/")[0] in ROOMS and os.access(ROOT / name, os.X_OK)}
    assert in_wheel == here
    assert "sovctl/roles/pool/files/probe" in in_wheel
    assert os.access(installed.site_packages / "sovctl" / "roles" / "pool" / "files" / "probe", os.X_OK)


def test_only_one_name_becomes_importable(installed: Installed) -> None:
    own = {path.name for path in installed.site_packages.iterdir()} - {"dependencies.pth"}
    assert {name for name in own if not name.endswith(".dist-info")} == {"sovctl"}
    for room in (*ROOMS, "tests"):
        done = run(installed.python, "-P", "-c", f"import {room}; print({room}.__file__)", cwd=installed.site_packages)
        assert "ModuleNotFoundError" in done.stderr, f"{room}: {done.stdout}"


def test_the_licence_is_in_it(installed: Installed) -> None:
    (licence,) = installed.site_packages.glob("sovctl-*.dist-info/licenses/LICENSE")
    assert licence.read_text() == (ROOT / "LICENSE").read_text()


def test_sovctl_comes_from_the_wheel(installed: Installed, tmp_path: Path) -> None:
    done = run(installed.python, "-c", "import sovctl, sovctl.cli.main; print(sovctl.cli.main.__file__)", cwd=tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(installed.site_packages / "sovctl"), done.stderr


def test_it_plans_the_bank_from_captures(installed: Installed, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "bank")
    done = run(installed.sovctl, "plan", "site.yaml", "--facts", "facts", cwd=tmp_path / "bank")
    assert done.returncode == 0, done.stderr
    assert "dgx-[1-2] (2 nodes)\n" in done.stdout
    assert " to create, " in done.stdout.splitlines()[-1]
    here = run(Path(sys.executable).with_name("sovctl"), "plan", "site.yaml", "--facts", "facts", cwd=tmp_path / "bank")
    assert done.stdout == here.stdout, "the wheel plans otherwise than the clone"


@pytest.mark.parametrize("how", ["script", "module"])
def test_stray_folders_where_one_works_are_not_imported(how: str, installed: Installed, tmp_path: Path) -> None:
    trap = "raise SystemExit('a stray file was imported')\n"
    for room in ("sovctl/cli", "sovctl/engine", "cli", "engine"):
        (tmp_path / room).mkdir(parents=True, exist_ok=True)
        (tmp_path / room / "main.py").write_text(trap)
        (tmp_path / room / "gather_worker.py").write_text(trap)
    command: list[str | Path] = [installed.sovctl]
    if how == "script":  # whole packages, and a name of the standard library
        for package in ("sovctl", "sovctl/cli", "cli"):
            (tmp_path / package / "__init__.py").write_text(trap)
        (tmp_path / "json.py").write_text(trap)
    else:  # `python -m` looks where it stands first; the installed package still wins over a folder of that name
        command = [installed.python, "-m", "sovctl.cli"]
    done = run(*command, "validate", EXAMPLE / "site.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        "list what is missing before the first plan"
    ]
    assert "is valid" in done.stdout


_WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None  # importing it fails, as where it is not installed
sys.argv = ["sovctl", *{words!r}]
from sovctl.cli.main import main
main()
"""


_LACKING = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "starlette" else find_spec(name)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        *([each, "--help"] for each in ("init", "validate", "plan", "apply", "verify", "report", "gateway", "lab")),
        ["validate", f"{EXAMPLE}/site.yaml"],
        ["plan", f"{EXAMPLE}/site.yaml", "--facts", f"{EXAMPLE}/facts"],
    ],
    ids=lambda words: "-".join(Path(word).name for word in words),
)
def test_nothing_of_the_gateway_is_needed_to_plan(words: list[str], installed: Installed, tmp_path: Path) -> None:
    done = run(installed.python, "-c", _WITHOUT.format(names=GATEWAYS_OWN, words=words), cwd=tmp_path)
    assert (done.returncode, done.stdout != "") == (0, True), done.stderr


def test_without_its_extra_the_gateway_says_what_to_install(installed: Installed, tmp_path: Path) -> None:
    code = _LACKING + _WITHOUT.format(names=[], words=["gateway", "check"])
    done = run(installed.python, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "")
    assert "missing Python packages: starlette" in done.stderr
    assert "pip install 'sovctl[gateway]'" in done.stderr
