"""access.key-folders: owner, group and mode of keys and of their folders let no other account replace them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ....facts.host.permissions import Permissions, parse_permissions, permissions_command
from ....facts.unreadable import Unreadable
from ....resources.credential import SECRETS, TLS, credentials_on
from ....spec import Node
from ....spec.service_accounts import SECRETS_GID
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_SSH = "/etc/ssh"
_HOST_KEYS = f"{_SSH}/ssh_host_*_key"
_WRITABLE = 0o022
_HOST_KEY_BITS = 0o037  # RHEL 9 has mode 0640 and the group ssh_keys


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Folders and files with keys.

    Args:
        folders: with their parents; root owns them, and neither group nor others can write.
        private_folders: that other users cannot enter.
        files: mode, user ID and group ID by path.
    """

    folders: tuple[str, ...]
    private_folders: tuple[str, ...] = ()
    files: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)


class KeyFolders(Check[Expected]):
    id, version, method = "access.key-folders", 1, Method.EXAMINE
    title = "no other account can replace a key, or a folder above it"
    controls = ("ac-6", "ia-5.2", "sc-12")
    severity = Severity.CRITICAL
    remedy = "correct owner, group and mode with `chown` and `chmod`; replace keys that other accounts could read"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node; of a node without services for the keys of its ssh server."""
        keys = [each for each in credentials_on(site.context, node) if not each.is_public]
        private = (TLS, SECRETS) if any(each.path.startswith(SECRETS) for each in keys) else (TLS,) if keys else ()
        parents = [str(each) for folder in (_SSH, *private) for each in PurePosixPath(folder).parents]
        yield Expected(
            folders=tuple(dict.fromkeys((_SSH, *private, *parents))),
            private_folders=private,
            files={each.path: (int(each.mode, 8), each.uid, SECRETS_GID) for each in keys},
        )

    def probe(self, expected: Expected) -> Probe:
        """Print owner, group and mode. The contents of keys are not read."""
        return Probe.of(
            folders=permissions_command(expected.folders),
            files=permissions_command(expected.files, patterns=[_HOST_KEYS]),
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every folder and every file has the expected owner, group and mode."""
        sections = parse_sections(output)
        folders, files = parse_permissions(sections.text("folders")), parse_permissions(sections.text("files"))
        findings = [each for path in expected.folders for each in _folder(path, folders.get(path), expected)]
        for path, wanted in expected.files.items():
            findings += _file(path, files.get(path), wanted)
        host_keys = {path: each for path, each in files.items() if path not in expected.files and each is not None}
        if other := next((path for path in host_keys if not fnmatchcase(path, _HOST_KEYS)), None):
            raise Unreadable(f"a path {_HOST_KEYS}", other, where="stat")
        if not host_keys:
            findings.append(unknown("a host key of sshd", "none"))
        for path, got in host_keys.items():
            if got.mode & _HOST_KEY_BITS or got.uid != 0:
                findings.append(failed(f"{path} of root without access of others", _shown(got)))
        return worst(
            findings,
            otherwise=f"expected keys that only their services can read, got {len(files)} keys "
            f"in {len(expected.folders)} folders",
        )


def _folder(path: str, got: Permissions | None, expected: Expected) -> Iterator[Judgement]:
    if got is None:
        yield unknown(f"folder {path}", "no such folder")
        return
    if got.uid != 0 or got.mode & _WRITABLE:
        yield failed(f"{path} of root, not writable for group and others", _shown(got))
    if path in expected.private_folders and got.mode & 0o007:
        yield failed(f"{path} closed to other users", _shown(got))


def _file(path: str, got: Permissions | None, wanted: tuple[int, int, int]) -> Iterator[Judgement]:
    if got is None:
        yield unknown(f"{path} to exist", "no such file")
    elif (got.mode, got.uid, got.gid) != wanted:
        yield failed(f"{path} with {_shown(Permissions(*wanted))}", _shown(got))


def _shown(got: Permissions) -> str:
    return f"mode {got.mode:04o}, user {got.uid}, group {got.gid}"
