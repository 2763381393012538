"""Hot reload: applies a changed gateway.yaml to new requests, or rejects it as a whole.

SIGHUP and a changed file trigger it. The files are gateway.yaml and those named by reloadable keys (the clients files
have their own watch, see `access.authenticator`). New content is read and validated as a whole while the old settings
serve. Then `gateway.policy` is written to the ledger, and in one step of the event loop new requests get the
new settings; running requests keep the old ones.

Ports, ledger, vault and upstreams cannot change live: a file that changes one of these keys is rejected, with the
key's name, and so is an invalid file. The old settings stay in force, and log, metrics and `/readyz` report it until a
valid file is loaded. A file is read only after it was unchanged for one check, so that an incomplete file is not
rejected. Every worker process reloads by itself; `policy_sha256` in each audit record identifies the policy of a
request.

    reloader = Reloader(path, in_force, make_finder=make_detector, put_in_force=swap, metrics=metrics)
    loop.add_signal_handler(signal.SIGHUP, reloader.wake)
    await reloader.watch()
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from sovctl.support.errors import InputError, SovctlError, SpecError

from ..access.authenticator import Authenticator
from ..detect.clean_text_cache import Finder
from ..domain.errors import Refused
from ..model_finders import NameModel, Screen, load_models, load_screens
from ..policy.permissions import check_rules
from ..release.judge import ReleaseChecks, checks_of
from ..settings import DetectSettings, GatewaySettings, load_settings
from ..telemetry import log
from ..telemetry.metrics import Metrics

LIVE = (
    "clients_file",
    "clients_sha256",
    "access",
    "quota",
    "routes",
    "policy",
    "detect",
    "restore",
    "tokens",
    "limits",
    "request_fields",
)
"""Keys of gateway.yaml that can change during operation; other keys need a restart."""

_CALLERS = ("clients_file", "clients_sha256", "access")
_CHECK_EVERY_S = 1.0  # a few `stat` calls, about 10 us; SIGHUP reloads immediately

Stamp = dict[Path, tuple[int, int, int] | None]
"""Modification time, size and inode of each file; None if absent."""


@dataclass(frozen=True)
class InForce:
    """Settings for new requests, and the objects built from them.

    Raises:
        SpecError: the policy names rules that the detector does not have.
    """

    settings: GatewaySettings
    authenticator: Authenticator
    finder: Finder
    detector_files: Stamp
    """State of the detector's files before they were loaded."""
    checks: Mapping[str, ReleaseChecks]
    """Release checks by model name."""
    models: Sequence[NameModel] = ()
    """The site's models that find names."""
    screens: Sequence[Screen] = ()
    """The site's models that classify texts."""

    @classmethod
    def load(cls, settings: GatewaySettings, make_finder: Callable[[DetectSettings], Finder]) -> Self:
        """Build all objects of the settings."""
        detector_files = _stamp(_paths(settings.detect))
        finder = make_finder(settings.detect)
        models, screens = load_models(settings.detect), load_screens(settings.detect)
        checks = checks_of(settings, finder)
        return cls(settings, Authenticator(settings), finder, detector_files, checks, models, screens)

    def __post_init__(self) -> None:
        check_rules(self.settings.policy, self.finder, self.settings.detect.model_finder_rules)


class Reloader:
    """Watches the files of one gateway process and applies changes.

    Args:
        path: gateway.yaml.
        in_force: the current settings, read from that file.
        make_finder: creates the detector; called in a thread, and only if its settings or files changed.
        put_in_force: records the change, then applies it; also gets the names of the changed keys. Raises `Refused` if
            the
            record is not durable; then nothing was applied.
    """

    def __init__(
        self,
        path: Path,
        in_force: InForce,
        *,
        make_finder: Callable[[DetectSettings], Finder],
        put_in_force: Callable[[InForce, list[str]], Awaitable[None]],
        metrics: Metrics,
    ) -> None:
        self.wrong: dict[str, str] = {}
        """For `/readyz`: why the current files are not in force; empty if they are."""
        self._path = path
        self._in_force = in_force
        self._make_finder = make_finder
        self._put_in_force = put_in_force
        self._metrics = metrics
        self._read = _stamp([path, *live_files(in_force.settings)])
        self._hung_up = asyncio.Event()

    def wake(self) -> None:
        """Read the files now; for SIGHUP."""
        self._hung_up.set()

    async def watch(self) -> None:
        """Reload on every change or signal; does not return."""
        seen = self._read
        while True:
            try:
                await asyncio.wait_for(self._hung_up.wait(), _CHECK_EVERY_S)
            except TimeoutError:
                before, seen = seen, _stamp(self._read)
                if seen == self._read or seen != before:
                    continue
            else:
                self._hung_up.clear()
                await self._in_force.authenticator.refresh()
            await self.reload()

    async def reload(self, *, is_start: bool = False) -> bool:
        """Read the files and apply them. Return False if they were rejected.

        Args:
            is_start: usually nothing has changed then, so it is not logged.
        """
        try:
            changed = await self._reload()
        except SovctlError as error:
            return self._refused([str(each) for each in (error.problems if isinstance(error, SpecError) else [error])])
        except Refused as refused:
            return self._refused([refused.code.value])
        except Exception as error:  # noqa: BLE001 - a detector may fail in any way; the old one continues to serve
            log.event("reload failed", level=40, error=error)
            return self._refused([type(error).__name__])
        self.wrong = {}
        self._metrics.reloads.add("applied" if changed else "unchanged")
        self._metrics.reload_failed.put(0)
        if changed or not is_start:
            log.event("reloaded", changed=changed, policy_sha256=self._in_force.settings.policy.digest())
        return True

    async def _reload(self) -> list[str]:
        """Return the names of the changed keys, now in force."""
        old = self._in_force
        own = _stamp([self._path])  # before reading, so that a later change is detected
        self._read = {**self._read, **own}
        settings = await asyncio.to_thread(load_settings, self._path)
        self._read = _stamp(live_files(settings)) | own
        changed = changed_keys(old.settings, settings)
        fixed = [name for name in changed if name not in LIVE]
        if settings.quota.path != old.settings.quota.path:
            fixed.append("quota.path")
        if fixed:
            raise InputError(
                f"a change of {', '.join(fixed)} needs a restart",
                where=str(self._path),
                hint="restart the gateway",
            )
        authenticator = old.authenticator
        if not set(_CALLERS).isdisjoint(changed):
            authenticator = await asyncio.to_thread(Authenticator, settings)
        finder, models, screens = old.finder, old.models, old.screens
        detector_files = _stamp(_paths(settings.detect))
        if "detect" in changed or detector_files != old.detector_files:
            finder = await asyncio.to_thread(self._make_finder, settings.detect)
            models = await asyncio.to_thread(load_models, settings.detect)
            screens = await asyncio.to_thread(load_screens, settings.detect)
            if "detect" not in changed:
                changed.append("detect")
        checks = await asyncio.to_thread(checks_of, settings, finder)
        new = InForce(settings, authenticator, finder, detector_files, checks, models, screens)
        async with AsyncExitStack() as stack:
            if authenticator is not old.authenticator:
                stack.push_async_exit(await authenticator.__aenter__())
            if changed:
                await self._put_in_force(new, changed)
            stack.pop_all()
        self._in_force = new
        if authenticator is not old.authenticator:
            await old.authenticator.__aexit__(None, None, None)
        return changed

    def _refused(self, problems: list[str]) -> bool:
        self.wrong = {"reload": "; ".join(problems) + "; what was in force before still is"}
        self._metrics.reloads.add("refused")
        self._metrics.reload_failed.put(1)
        log.event("reload refused", level=40, problems=problems)
        return False


def changed_keys(old: GatewaySettings, new: GatewaySettings) -> list[str]:
    """Return the top-level keys of gateway.yaml that differ, in the order of the settings."""
    return [name for name in GatewaySettings.model_fields if getattr(old, name) != getattr(new, name)]


def live_files(settings: GatewaySettings) -> list[Path]:
    """Return the files that reloadable keys name, without the clients files."""
    return [path for name in LIVE if name not in _CALLERS for path in _paths(getattr(settings, name))]


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _paths(getattr(value, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _paths(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item)


def _stamp(paths: Iterable[Path]) -> Stamp:
    stamp: Stamp = {}
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            stamp[path] = None
        else:
            stamp[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return stamp
