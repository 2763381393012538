"""pytest plugin of the site suite: makes the cases of a site.yaml, and writes one JSON line per result.

By hand, as an Ansible or pytest person would (inside the management network namespace, where there is one):

    suite=$(python -c 'from sovctl.engine.checks.runner import suite; print(suite.__path__[0])')
    pytest -p sovctl.engine.checks.runner.pytest_plugin -c $suite/pytest.ini --sovctl-site site.yaml -k nvlink $suite

`sovctl verify` runs the same thing, and makes evidence of what it says.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from ...site.credentials import read_secret
from ...site.site import Site
from ..model.result import Result
from .build_context import estate_of
from .observer import Observer
from .targets import all_cases, choose
from .transport import ssh_config


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options."""
    group = parser.getgroup("sovctl")
    group.addoption("--sovctl-site", help="the site.yaml to verify")
    group.addoption("--sovctl-state", default="", help="state folder; .sovctl beside the site file if not given")
    group.addoption("--sovctl-nodes", default="", help="names, split by commas; all if not given")
    group.addoption("--sovctl-checks", default="", help="patterns of check ids, split by commas; all if not given")
    group.addoption("--sovctl-today", default="", help="YYYY-MM-DD in UTC; the clock's day if not given")
    group.addoption("--sovctl-results", default="", help="write results here, one JSON line each")


def pytest_configure(config: pytest.Config) -> None:
    """Read the site once, before anything is collected."""
    if not config.getoption("--sovctl-site"):
        raise pytest.UsageError("--sovctl-site is needed: the site.yaml to verify")
    config.stash[_RUN] = Run(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if run := config.stash.get(_RUN, None):
        run.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per case."""
    if "case" in metafunc.fixturenames:
        cases = metafunc.config.stash[_RUN].cases
        metafunc.parametrize("case", cases, ids=[case.id for case in cases])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop when whoever asked for results is gone: nobody would read the rest."""
    if item.config.stash[_RUN].is_orphan:
        pytest.exit("the program that asked for this is gone", returncode=3)


@pytest.fixture(scope="session")
def observe(request: pytest.FixtureRequest) -> Observer:
    """Looks at cases; connections are shared for the session."""
    return request.config.stash[_RUN].observer


@pytest.fixture(scope="session")
def keep(request: pytest.FixtureRequest) -> Callable[[Result], None]:
    """Hands a result on to whoever asked for it."""
    return request.config.stash[_RUN].keep


class Run:
    """One session: the site's cases, the connections, the results."""

    def __init__(self, config: pytest.Config) -> None:
        state, today = config.getoption("--sovctl-state"), config.getoption("--sovctl-today")
        nodes, checks, results = (config.getoption(f"--sovctl-{name}") for name in ("nodes", "checks", "results"))
        site = Site.open(
            Path(config.getoption("--sovctl-site")), state=Path(state) if state else None, touches_nodes=True
        )
        day = date.fromisoformat(today) if today else datetime.now(UTC).date()
        self.cases = choose(
            all_cases(estate_of(site, today=day)),
            nodes=filter(None, nodes.split(",")),
            checks=filter(None, checks.split(",")),
        )
        self._results = Path(results).open("w") if results else None  # noqa: SIM115 - open for the whole session
        self._parent = os.getppid()
        self._folder = tempfile.TemporaryDirectory(prefix="sovctl-")
        folder = Path(self._folder.name)
        (folder / "ssh_config").write_text(ssh_config(site.spec, site.folder, folder))
        where = "site.yaml: gateway.clients[0].api_key"
        self.observer = Observer(folder / "ssh_config", lambda secret: read_secret(secret, site.folder, where))

    @property
    def is_orphan(self) -> bool:
        """True when results are wanted and the process that wanted them has ended."""
        return self._results is not None and os.getppid() != self._parent

    def keep(self, result: Result) -> None:
        """Write a result where it was asked for."""
        if self._results is not None:
            self._results.write(result.to_line())
            self._results.flush()

    def close(self) -> None:
        """End connections, remove the folder."""
        self.observer.close()
        if self._results is not None:
            self._results.close()
        self._folder.cleanup()


_RUN = pytest.StashKey[Run]()
