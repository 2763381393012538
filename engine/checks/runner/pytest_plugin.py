"""pytest plugin of the suite: generates one test per target of a site.yaml, and writes one JSON line per result.

To run the suite directly with pytest, in the management network namespace if the site has one:

    suite=$(python -c 'from sovctl.engine.checks.runner import suite; print(suite.__path__[0])')
    pytest -p sovctl.engine.checks.runner.pytest_plugin -c $suite/pytest.ini --sovctl-site site.yaml -k nvlink $suite

`sovctl verify` runs the same suite, and stores the results as evidence.
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
from ..model.check import Level
from ..model.result import Result
from .active.build import measurement_of
from .build_context import build_context
from .observer import Observer, collect_rarely
from .targets import choose, targets_of
from .transport import ssh_config


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options of the suite."""
    group = parser.getgroup("sovctl")
    group.addoption("--sovctl-site", help="the site.yaml to verify")
    group.addoption("--sovctl-content", default="", help="file with content to use instead of the site file's")
    group.addoption("--sovctl-state", default="", help="state folder; default: .sovctl in the folder of the site file")
    group.addoption("--sovctl-nodes", default="", help="names, separated by commas; default: all")
    group.addoption("--sovctl-checks", default="", help="patterns of check ids, separated by commas; default: all")
    group.addoption("--sovctl-level", default="", help="quick, full or burn-in; default: all without load on a node")
    group.addoption(
        "--sovctl-allow-downtime", default="", help="pools, and `gateway`, next to which active tests may run"
    )
    group.addoption("--sovctl-today", default="", help="YYYY-MM-DD in UTC; default: the current day")
    group.addoption("--sovctl-results", default="", help="file for results, one JSON line each")


def pytest_configure(config: pytest.Config) -> None:
    """Read the site once, before collection."""
    if not config.getoption("--sovctl-site"):
        raise pytest.UsageError("--sovctl-site is required: the site.yaml to verify")
    config.stash[_RUN] = Run(config)
    collect_rarely()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close connections and remove temporary files."""
    if run := config.stash.get(_RUN, None):
        run.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate one test per target."""
    if "target" in metafunc.fixturenames:
        targets = metafunc.config.stash[_RUN].targets
        metafunc.parametrize("target", targets, ids=[target.id for target in targets])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Measure the selected targets only: the probes of all of them start at the first test."""
    run = session.config.stash[_RUN]
    selected = {item.callspec.id for item in session.items if isinstance(item, pytest.Function)}
    run.observer.targets = [target for target in run.targets if target.id in selected]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop if the process that reads the results has ended."""
    if item.config.stash[_RUN].is_orphan:
        pytest.exit("the process that reads the results has ended", returncode=3)


@pytest.fixture(scope="session")
def observer(request: pytest.FixtureRequest) -> Observer:
    """Return the observer of the session, whose connections all tests share."""
    return request.config.stash[_RUN].observer


@pytest.fixture(scope="session")
def keep(request: pytest.FixtureRequest) -> Callable[[Result], None]:
    """Return the function that writes a result to `--sovctl-results`."""
    return request.config.stash[_RUN].keep


class Run:
    """The targets, connections and results of one pytest session."""

    def __init__(self, config: pytest.Config) -> None:
        state, today = config.getoption("--sovctl-state"), config.getoption("--sovctl-today")
        level = config.getoption("--sovctl-level")
        nodes, checks, results = (config.getoption(f"--sovctl-{name}") for name in ("nodes", "checks", "results"))
        content = config.getoption("--sovctl-content")
        site = Site.open(
            Path(config.getoption("--sovctl-site")),
            state=Path(state) if state else None,
            touches_nodes=True,
            data=Path(content).read_bytes() if content else None,
        )
        day = date.fromisoformat(today) if today else datetime.now(UTC).date()
        context = build_context(site, today=day)
        self.targets = choose(
            targets_of(context),
            nodes=filter(None, nodes.split(",")),
            checks=filter(None, checks.split(",")),
            level=Level(level) if level else None,
        )
        self._results = Path(results).open("w") if results else None  # noqa: SIM115 - open for the whole session
        self._parent = os.getppid()
        self._folder = tempfile.TemporaryDirectory(prefix="sovctl-")
        folder = Path(self._folder.name)
        (folder / "ssh_config").write_text(ssh_config(site.spec, site.folder, folder))
        where = "site.yaml: gateway.clients[0].api_key"
        allowed = [name for name in config.getoption("--sovctl-allow-downtime").split(",") if name]
        self.observer = Observer(
            self.targets,
            folder / "ssh_config",
            lambda secret: read_secret(secret, site.folder, where),
            measurement_of(context.context, folder / "ssh_config", allowed),
        )

    @property
    def is_orphan(self) -> bool:
        """Whether `--sovctl-results` is given and the parent process has ended."""
        return self._results is not None and os.getppid() != self._parent

    def keep(self, result: Result) -> None:
        """Write a result to `--sovctl-results`, if given."""
        if self._results is not None:
            self._results.write(result.to_line())
            self._results.flush()

    def close(self) -> None:
        """Close connections, and remove the temporary folder."""
        self.observer.close()
        if self._results is not None:
            self._results.close()
        self._folder.cleanup()


_RUN = pytest.StashKey[Run]()
