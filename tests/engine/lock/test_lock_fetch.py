"""`sovctl lock fetch`: real downloads over loopback, resumed, bounded, and refused with another content."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_processes
from file_server import FileServer

from sovctl.engine.bundle.lock_file import read_lock as read_files_of_bundle
from sovctl.engine.lock import download, fetch
from sovctl.engine.lock.files import LockedFile, SourcedFile, files_of
from sovctl.engine.lock.folder import Lock, write_lock
from sovctl.engine.lock.part import LockedPackage, Part
from sovctl.support.errors import Busy, ExitCode, InputError, MissingTool

BYTES = random.Random(19).randbytes(3 << 20)


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_BACKOFF_S", 0.01)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({"/a.deb": BYTES, "/b.whl": b"wheel", "/c.bin": b"model"}) as made:
        yield made


def locked(path: str, data: bytes, url: str, kind: str = "deb") -> SourcedFile:
    return SourcedFile(LockedFile(path, len(data), hashlib.sha256(data).hexdigest(), kind), url, "free", "yes")


def of(server: FileServer) -> list[SourcedFile]:
    return [
        locked("apt/debian-12/a.deb", BYTES, f"{server.url}/a.deb"),
        locked("wheels/b.whl", b"wheel", f"{server.url}/b.whl", "wheel"),
        locked("models/m/c.bin", b"model", f"{server.url}/c.bin", "model"),
    ]


def test_downloads_each_file_once_and_verifies_the_rest(server: FileServer, tmp_path: Path) -> None:
    done = fetch.fetch(of(server), tmp_path)
    assert (done.present, done.added, done.missing) == (0, 3, [])
    assert (tmp_path / "apt/debian-12/a.deb").read_bytes() == BYTES
    assert not (tmp_path / fetch.PARTIAL).exists()
    assert len(server.requests) == 3
    again = fetch.fetch(of(server), tmp_path)
    assert (again.present, again.added, again.received_bytes) == (3, 0, 0)
    assert len(server.requests) == 3


def test_a_damaged_file_is_fetched_again(server: FileServer, tmp_path: Path) -> None:
    fetch.fetch(of(server), tmp_path)
    (tmp_path / "wheels/b.whl").write_bytes(b"whEel")
    done = fetch.fetch(of(server), tmp_path)
    assert (done.present, done.added) == (2, 1)
    assert (tmp_path / "wheels/b.whl").read_bytes() == b"wheel"


def test_a_connection_that_ends_is_continued_by_a_range(server: FileServer, tmp_path: Path) -> None:
    server.cut["/a.deb"] = 1_000_000
    done = fetch.fetch(of(server)[:1], tmp_path)
    assert done.missing == []
    assert server.requests == [("/a.deb", ""), ("/a.deb", "bytes=1000000-")]
    assert (tmp_path / "apt/debian-12/a.deb").read_bytes() == BYTES


def test_a_partial_file_of_an_earlier_run_is_continued(server: FileServer, tmp_path: Path) -> None:
    file = of(server)[0]
    (tmp_path / fetch.PARTIAL).mkdir()
    (tmp_path / fetch.PARTIAL / file.file.sha256).write_bytes(BYTES[:2_000_000])
    done = fetch.fetch([file], tmp_path)
    assert done.received_bytes == len(BYTES) - 2_000_000
    assert server.requests == [("/a.deb", "bytes=2000000-")]


def test_a_server_without_ranges_sends_the_whole_file(server: FileServer, tmp_path: Path) -> None:
    server.ranges, server.cut = False, {"/a.deb": 1_000_000}
    assert fetch.fetch(of(server)[:1], tmp_path).missing == []
    assert (tmp_path / "apt/debian-12/a.deb").read_bytes() == BYTES


def test_a_wrong_partial_file_is_refused_and_deleted(server: FileServer, tmp_path: Path) -> None:
    file = of(server)[0]
    partial = tmp_path / fetch.PARTIAL / file.file.sha256
    partial.parent.mkdir()
    partial.write_bytes(bytes(2_000_000))
    done = fetch.fetch([file], tmp_path)
    assert [each.reason[:16] for each in done.missing] == ["expected SHA-256"]
    assert not partial.exists()
    assert fetch.fetch([file], tmp_path).missing == []


@pytest.mark.parametrize("sent", [b"whEel", b"whee", b"wheels", b""])
def test_other_content_is_never_accepted(server: FileServer, tmp_path: Path, sent: bytes) -> None:
    server.files["/b.whl"] = sent
    done = fetch.fetch(of(server), tmp_path)
    assert [each.file.file.path for each in done.missing] == ["wheels/b.whl"]
    assert not (tmp_path / "wheels/b.whl").exists()
    assert done.added == 2


def test_errors_that_may_pass_are_repeated_and_others_are_not(server: FileServer, tmp_path: Path) -> None:
    server.failures["/a.deb"] = [503, 429]
    server.failures["/b.whl"] = [403]
    done = fetch.fetch(of(server), tmp_path)
    assert [(each.file.file.path, each.reason) for each in done.missing] == [("wheels/b.whl", "HTTP status 403")]
    assert len([path for path, _ in server.requests if path == "/a.deb"]) == 3


def test_a_server_that_stays_broken_ends_after_the_last_attempt(server: FileServer, tmp_path: Path) -> None:
    server.failures["/a.deb"] = [503] * 20
    done = fetch.fetch(of(server)[:1], tmp_path)
    assert [each.reason for each in done.missing] == ["HTTP status 503"]
    assert len(server.requests) == download.ATTEMPTS


def test_no_server_is_a_missing_file(server: FileServer, tmp_path: Path) -> None:
    server.server_close()
    done = fetch.fetch([locked("a.deb", b"x", "http://127.0.0.1:1/a.deb")], tmp_path)
    assert [each.reason for each in done.missing] == ["no connection"]


def test_files_at_the_same_time_are_bounded(tmp_path: Path) -> None:
    files = {f"/{n}": str(n).encode() for n in range(12)}
    with FileServer(files) as server:
        server.barrier = threading.Barrier(3)  # passes only if three requests are open
        rows = [locked(path[1:], data, server.url + path) for path, data in files.items()]
        assert fetch.fetch(rows, tmp_path, jobs=3).missing == []
        assert server.most_at_once == 3


def test_equal_files_are_downloaded_once(server: FileServer, tmp_path: Path) -> None:
    file = of(server)[0]
    rows = [file, locked("apt/debian-13/a.deb", BYTES, file.url)]
    assert fetch.fetch(rows, tmp_path).added == 2
    assert len(server.requests) == 1
    assert (tmp_path / "apt/debian-13/a.deb").read_bytes() == BYTES


def test_own_files_are_taken_from_a_folder_only_with_their_digest(server: FileServer, tmp_path: Path) -> None:
    rows = [locked("own/bios/board.rom", b"firmware", "", "own-file"), locked("own/x.rom", b"other", "", "own-file")]
    own = tmp_path / "vendor/somewhere"
    own.mkdir(parents=True)
    (own / "vendor-name.rom").write_bytes(b"firmware")
    (own / "x.rom").write_bytes(b"0ther")
    done = fetch.fetch(rows, tmp_path / "to", from_folders=[tmp_path / "vendor"])
    assert (tmp_path / "to/own/bios/board.rom").read_bytes() == b"firmware"
    assert [(each.place, each.reason) for each in done.missing] == [(str(tmp_path / "to/own/x.rom"), fetch.NO_URL)]


def test_local_urls_of_apt_are_copied(tmp_path: Path) -> None:
    (tmp_path / "a b.deb").write_bytes(b"x")
    row = locked("a.deb", b"x", f"copy:{tmp_path}/a%20b.deb")
    assert fetch.fetch([row], tmp_path / "to").added == 1


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x"])
def test_paths_outside_of_the_folder_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError):
        fetch.fetch([locked(path, b"x", "http://127.0.0.1:1/x")], tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_second_process_is_refused(server: FileServer, tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(Busy):
            fetch.fetch(of(server), tmp_path)
    finally:
        os.close(handle)


def test_too_little_space_is_found_before_the_first_download(server: FileServer, tmp_path: Path) -> None:
    huge = SourcedFile(LockedFile("a", 1 << 60, "0" * 64, "model"), f"{server.url}/a.deb", "free", "yes")
    with pytest.raises(MissingTool):
        fetch.fetch([huge], tmp_path)
    assert server.requests == []


def test_the_command_prints_places_and_ends_with_1(server: FileServer, tmp_path: Path) -> None:
    rows = [*of(server), locked("own/x.rom", b"rom", "", "own-file")]
    packages = tuple(
        LockedPackage(f"p{n}", "1", "", each.file.path, each.file.size, each.file.sha256, "test", each.url, "free",
                      "own-file" if not each.url else "yes")
        for n, each in enumerate(rows)
    )  # fmt: skip
    part = Part("all", "deb", {}, (), {}, packages, {}, "invented")
    lock = Lock("bank", {}, (), (part,))
    write_lock(lock, tmp_path / "locks", "")
    count = len(files_of(lock))
    assert count == len(rows) + 3  # lock.json, the part, the bill of materials
    done = warm_processes.sovctl("lock", "fetch", "locks", "--to", "content", "--json", cwd=tmp_path, env=os.environ)
    assert done.returncode == ExitCode.FAILURE, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["files"], printed["added"]) == (count, count - 1)
    assert [each["place"] for each in printed["missing"]] == ["content/own/x.rom"]
    (tmp_path / "content/own").mkdir()
    (tmp_path / "content/own/x.rom").write_bytes(b"rom")
    done = warm_processes.sovctl("lock", "fetch", "locks", "--to", "content", cwd=tmp_path, env=os.environ)
    assert done.returncode == ExitCode.OK, done.stderr
    assert f"{count} present, 0 added, 0 missing" in done.stdout
    for each in read_files_of_bundle(tmp_path / "locks")[0]:
        assert (tmp_path / "content" / each.path).stat().st_size == each.size
