"""A real PostgreSQL server for tests: Debian's binaries, a folder of its own, TLS on loopback and a socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loopback_ports import unused_port

DATABASE, PASSWORD = "vault", "correct-horse-battery"


def binaries() -> Path:
    """The newest server on this machine.

    Raises:
        LookupError: there is none. The tests do not go on without.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not found:
        raise LookupError("expected a PostgreSQL server in /usr/lib/postgresql, got none: make test-packages")
    return found[-1].parent


class PostgresqlServer:
    """One server, as a user without rights. Started by `start`.

    Args:
        certificate_file: with the address 127.0.0.1 in it.
        shared_buffers: memory for pages of tables and indexes.
        settings: further settings, by name.
    """

    def __init__(
        self,
        certificate_file: Path,
        key_file: Path,
        ca_file: Path,
        *,
        shared_buffers: str = "32MB",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = {"shared_buffers": shared_buffers, **(settings or {})}
        self.bin = binaries()
        self.ca_file = ca_file
        self.folder = Path(tempfile.mkdtemp(prefix="sovctl-pg-"))
        self.data = self.folder / "data"
        self.port = unused_port()
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root, and a key that others may read.
        self._user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        for source, name in ((certificate_file, "server.pem"), (key_file, "server.key"), (secret, "password")):
            target = self.folder / name
            if source != target:
                shutil.copy(source, target)
            target.chmod(0o600)
        if os.getuid() == 0:
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        self._run(
            "initdb",
            "--pgdata",
            self.data,
            "--username=sovctl",
            f"--pwfile={secret}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-instructions",
            "--no-sync",
        )
        (self.data / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\nhost all all 0.0.0.0/0 reject\n"
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "ssl": "on",
            "ssl_cert_file": self.folder / "server.pem",
            "ssl_key_file": self.folder / "server.key",
            "max_connections": 60,
            **self._settings,
        }
        arguments = [f"-c{name}={value}" for name, value in options.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._as_user(),
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.02)
        if not self._run(
            "psql", *self._place, "-d", "postgres", "-Atc", f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"
        ):
            self._run("createdb", *self._place, DATABASE)

    def kill(self) -> None:
        """End it as a crash of the machine would: nothing is flushed, nobody is told."""
        assert self._process is not None
        children = self._children()
        for pid in (self._process.pid, *children):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """End it, and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
        shutil.rmtree(self.folder)

    def psql(self, statement: str, *, database: str = DATABASE) -> str:
        """What psql prints for a statement."""
        return self._run("psql", *self._place, "-d", database, "-At", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement)

    def run_file(self, path: Path) -> None:
        """Run the statements of a file with psql, as `postgres` of a node does."""
        self._run("psql", *self._place, "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-f", path)

    def dump(self) -> bytes:
        """What `pg_dump` writes, and the server's files: tables and write-ahead log."""
        text = self._run("pg_dump", *self._place, DATABASE)
        oid = self.psql(f"SELECT oid FROM pg_database WHERE datname = '{DATABASE}'").strip()
        files = [*(self.data / "base" / oid).iterdir(), *(self.data / "pg_wal").glob("0*")]
        return text.encode() + b"".join(path.read_bytes().rstrip(b"\0") for path in sorted(files))

    @property
    def _place(self) -> tuple[str | Path, ...]:
        return "-h", self.folder, "-p", str(self.port), "-U", "sovctl"

    def _children(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _as_user(self) -> dict[str, Any]:
        if os.getuid() != 0:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _answers(self) -> bool:
        command = [self.bin / "pg_isready", "-h", self.folder, "-p", str(self.port), "-q"]
        return subprocess.run(command, cwd=self.folder).returncode == 0

    def _run(self, program: str, *arguments: str | Path) -> str:
        command = [self.bin / program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **self._as_user())
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout
