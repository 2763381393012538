"""The main job with the second engine, llama.cpp from Debian packages: from site.yaml to a verified report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from lab_site import SharedLab, run

from examples import IS_COMPLETE

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="sets up another lab; runs with `make test-all`"),
]


@pytest.fixture(scope="module")
def lab_folder(shared_lab: SharedLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of the demo. Its lab has the name of the shared one, which is not up yet."""
    shared_lab.down()
    folder = tmp_path_factory.mktemp("llama-cpp") / "demo"
    yield folder
    shared_lab.down()


def test_the_demo_with_llama_cpp_has_no_problem(lab_folder: Path, shared_lab: SharedLab) -> None:
    done = run("lab", "demo", "--engine", "llama.cpp", "--name", shared_lab.lab.name, "--directory", str(lab_folder))
    assert done.returncode == 0, done.stdout + done.stderr
    site = yaml.safe_load((lab_folder / "site.yaml").read_text())
    assert site["software"]["engine"] == "llama.cpp"
    planned = run("plan", str(lab_folder / "site.yaml"), "--detailed-exitcode", "--json")
    assert (planned.returncode, json.loads(planned.stdout)["changes"]) == (0, [])
