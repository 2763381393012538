"""Hot reload: a changed gateway.yaml comes into force for new requests, or is refused as a whole.

SIGHUP and a changed file both lead here; the files are gateway.yaml and those that a live part of it names (the
clients' have a watch of their own, see `access.callers`). The new content is read and checked whole, beside the one
that serves. Then `gateway.policy` is made durable in the ledger, and in one step of the event loop new requests get the
new rules; requests on their way end under the old ones.

What is open cannot change live (ports, ledger, vault, upstreams): a file that changes one of these is refused by name,
and so is one that is wrong. The old rules stay in force, and log, metrics and `/readyz` say so until a good file is
there. A file is read when it has kept still for one look, so a half-written one is not taken for a bad one. Every
worker process does this for itself; `policy_sha256` in each audit record says under which rules a request was served.

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

from ..access.callers import Callers
from ..detect.clean_text_cache import Finder
from ..domain.errors import Refused
from ..model_finders import NameModel, load_models
from ..policy.permissions import check_rules
from ..release.judge import ReleaseChecks, checks_of
from ..settings import DetectSettings, GatewaySettings, load_settings
from ..telemetry import log
from ..telemetry.metrics import Metrics

LIVE = ("clients_file", "access", "quota", "routes", "policy", "detect", "restore", "tokens", "limits")
"""Keys of gateway.yaml that may change while requests are served; any other one needs a restart."""

_CALLERS = ("clients_file", "access")
_LOOK_EVERY_S = 1.0  # a few `stat` calls, some 10 us in all; an operator who waits has SIGHUP

Stamp = dict[Path, tuple[int, int, int] | None]
"""What a file looked like from outside: when changed, how large, which one; None when absent."""


@dataclass(frozen=True)
class InForce:
    """What new requests are served under.

    Raises:
        SpecError: policy names rules that the detector does not have.
    """

    settings: GatewaySettings
    callers: Callers
    finder: Finder
    detector_files: Stamp
    """What the detector's files looked like before it was made of them."""
    checks: Mapping[str, ReleaseChecks]
    """Of answers, by model name."""
    models: Sequence[NameModel] = ()
    """The site's own, that find names."""

    @classmethod
    def load(cls, settings: GatewaySettings, make_finder: Callable[[DetectSettings], Finder]) -> Self:
        """What the settings describe, made anew."""
        detector_files = _stamp(_paths(settings.detect))
        finder = make_finder(settings.detect)
        models = load_models(settings.detect)
        return cls(settings, Callers(settings), finder, detector_files, checks_of(settings, finder), models)

    def __post_init__(self) -> None:
        check_rules(self.settings.policy, self.finder, self.settings.detect.slow_rules)


class Reloader:
    """Watches the files of one gateway process and puts what is new in force.

    Args:
        path: gateway.yaml.
        in_force: what serves now, read from that file.
        make_finder: makes the detector; called in a thread, and only when something about it changed.
        put_in_force: records the change, then swaps; gets the names of what changed as well. Raises `Refused` when the
            record is not durable; then nothing was swapped.
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
        """For `/readyz`: why the files that are there now are not in force; empty when they are."""
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
        """Reload whenever there is a reason to; never returns."""
        seen = self._read
        while True:
            try:
                await asyncio.wait_for(self._hung_up.wait(), _LOOK_EVERY_S)
            except TimeoutError:
                before, seen = seen, _stamp(self._read)
                if seen == self._read or seen != before:
                    continue
            else:
                self._hung_up.clear()
                await self._in_force.callers.freshen()
            await self.reload()

    async def reload(self, *, is_start: bool = False) -> bool:
        """Read the files and put what they say in force; False when that was refused.

        Args:
            is_start: mostly nothing has changed then, and nobody has to hear of that.
        """
        try:
            changed = await self._reload()
        except SovctlError as error:
            return self._refused([str(each) for each in (error.problems if isinstance(error, SpecError) else [error])])
        except Refused as refused:
            return self._refused([refused.code.value])
        except Exception as error:  # noqa: BLE001 - a detector may fail in any way; the old one goes on serving
            log.event("reload failed", level=40, error=error)
            return self._refused([type(error).__name__])
        self.wrong = {}
        self._metrics.reloads.add("applied" if changed else "unchanged")
        self._metrics.reload_failed.put(0)
        if changed or not is_start:
            log.event("reloaded", changed=changed, policy_sha256=self._in_force.settings.policy.digest())
        return True

    async def _reload(self) -> list[str]:
        """Names of what changed and is in force now."""
        old = self._in_force
        own = _stamp([self._path])  # before it is read, so that a later change is seen
        self._read = {**self._read, **own}
        settings = await asyncio.to_thread(load_settings, self._path)
        self._read = _stamp(live_files(settings)) | own
        changed = changed_keys(old.settings, settings)
        fixed = [name for name in changed if name not in LIVE]
        if settings.quota.path != old.settings.quota.path:
            fixed.append("quota.path")
        if fixed:
            raise InputError(
                f"expected no change of {', '.join(fixed)} while the gateway runs, got one",
                where=str(self._path),
                hint="restart the gateway",
            )
        callers = old.callers
        if not set(_CALLERS).isdisjoint(changed):
            callers = await asyncio.to_thread(Callers, settings)
        finder, models, detector_files = old.finder, old.models, _stamp(_paths(settings.detect))
        if "detect" in changed or detector_files != old.detector_files:
            finder = await asyncio.to_thread(self._make_finder, settings.detect)
            models = await asyncio.to_thread(load_models, settings.detect)
            if "detect" not in changed:
                changed.append("detect")
        checks = await asyncio.to_thread(checks_of, settings, finder)
        new = InForce(settings, callers, finder, detector_files, checks, models)
        async with AsyncExitStack() as stack:
            if callers is not old.callers:
                stack.push_async_exit(await callers.__aenter__())
            if changed:
                await self._put_in_force(new, changed)
            stack.pop_all()
        self._in_force = new
        if callers is not old.callers:
            await old.callers.__aexit__(None, None, None)
        return changed

    def _refused(self, problems: list[str]) -> bool:
        self.wrong = {"reload": "; ".join(problems) + "; what was in force before still is"}
        self._metrics.reloads.add("refused")
        self._metrics.reload_failed.put(1)
        log.event("reload refused", level=40, problems=problems)
        return False


def changed_keys(old: GatewaySettings, new: GatewaySettings) -> list[str]:
    """Top-level keys of gateway.yaml that differ, in the order of the settings."""
    return [name for name in GatewaySettings.model_fields if getattr(old, name) != getattr(new, name)]


def live_files(settings: GatewaySettings) -> list[Path]:
    """The files that the live parts of the settings name, apart from the clients'."""
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
