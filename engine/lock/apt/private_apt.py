"""apt with private folders: it reads no setting, key, list or package status of the builder, and needs no root.

`APT_CONFIG` names a file that moves every folder (apt.conf(5)). apt reads it before the folder of configuration parts,
so the builder's parts are not read either. As options (`-o`) the same settings come too late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sovctl.support.errors import SovctlError

from .. import programs
from ..refused import LockRefused

_CONFIG = """\
Dir "{folder}/";
Dir::State "{folder}/state/";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}/cache/";
Dir::Etc "{folder}/etc/";
Dir::Log "{folder}/log/";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "root";
"""
SETTINGS: Mapping[str, str] = {
    "APT::Install-Recommends": "false",  # as on the nodes
    "APT::Get::Always-Include-Phased-Updates": "true",  # otherwise the machine-id selects versions
    "Acquire::Check-Valid-Until": "true",
    "Acquire::Check-Date": "true",
    "Acquire::AllowInsecureRepositories": "false",
    "Acquire::ForceHash": "SHA256",
    "Acquire::Languages": "none",
    "Acquire::Retries": "2",
    "Debug::NoLocking": "true",
}
"""Settings that change the result; a lock records them."""
_FOLDERS = ("state/lists/partial", "cache/archives/partial", "log", "etc/apt.conf.d", "etc/preferences.d",
            "etc/sources.list.d", "etc/trusted.gpg.d", "etc/auth.conf.d")  # fmt: skip
HINT = "apt-get install apt"


class PrivateApt:
    """apt in a folder.

    Args:
        folder: empty; everything that apt writes is in it.
        architecture: Debian's name, such as `amd64`.
        sources: text by file name in `sources.list.d`.
        status: stanzas of dpkg's status; empty for a full set.
        preferences: text by file name in `preferences.d`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        architecture: str,
        sources: Mapping[str, str],
        status: str,
        preferences: Mapping[str, str],
    ) -> None:
        self.folder = folder.resolve()
        for name in _FOLDERS:
            (self.folder / name).mkdir(parents=True)
        config = _CONFIG.format(folder=self.folder, architecture=architecture)
        config += "".join(f'{name} "{value}";\n' for name, value in SETTINGS.items())
        (self.folder / "apt.conf").write_text(config)
        (self.folder / "status").write_text(status)
        for name, text in sources.items():
            (self.folder / "etc/sources.list.d" / name).write_text(text)
        for name, text in preferences.items():
            (self.folder / "etc/preferences.d" / name).write_text(text)

    def run(self, tool: str, *words: str, without_network: bool = False) -> programs.Result:
        """Run a tool of apt.

        Args:
            tool: `apt-get`, `apt-cache` or `apt-config`.
        """
        extra = {"APT_CONFIG": str(self.folder / "apt.conf"), "TMPDIR": str(self.folder)}
        return programs.run(
            [tool, *words], extra=extra, hint=HINT, without_network=without_network, cwd=str(self.folder)
        )

    def update(self) -> None:
        """Fetch and verify all indexes.

        Raises:
            SovctlError: a source does not answer, is expired, or its signature is invalid.
        """
        done = self.run("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")
        if done.exit_code != 0:
            hint = "check the package sources and their keys; an expired index needs a newer mirror"
            raise SovctlError(f"cannot read the package sources: {words_of(done)}", hint=hint)

    def install(self, roots: Sequence[str], *, where: str, print_uris: bool, without_network: bool = False) -> str:
        """Return the output of a simulated installation, or its files.

        Raises:
            LockRefused: the roots cannot be installed; contains apt's reasons.
        """
        mode = ["--print-uris"] if print_uris else ["--simulate"]
        done = self.run("apt-get", "-q", "-y", *mode, "install", *roots, without_network=without_network)
        if done.exit_code != 0:
            hint = "check the roots against the package sources; vendor packages come from --own-files"
            raise LockRefused([words_of(done)], where=where, hint=hint)
        return done.stdout

    def version(self) -> str:
        """Return the version of apt, such as `2.6.1`."""
        return self.run("apt-get", "--version").stdout.split()[1]


def words_of(done: programs.Result) -> str:
    """Return apt's errors and the unmet dependencies, one line."""
    lines = [line.removeprefix("E: ").strip() for line in done.stderr.splitlines() if line.startswith("E: ")]
    unmet = [" ".join(line.split()) for line in done.stdout.splitlines() if "Depends:" in line or "Breaks:" in line]
    return "; ".join([*unmet[:8], *lines[:8]]) or f"exit code {done.exit_code}"
