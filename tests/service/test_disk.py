"""A disk that is full, read-only or broken: the trouble is the service's own."""

import asyncio
import errno
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest

from wikisync.service.answers import disk_error, disk_refusal
from wikisync.service.committing import Author, commit_change
from wikisync.service.editing import CommitPlan

IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
FULL = {"message": "507 no space left on device"}
BORDER = "a-border"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (errno.ENOSPC, 507),
        (errno.EDQUOT, 507),
        (errno.EROFS, 500),
        (errno.EIO, 500),
        (errno.ENOENT, None),
        (errno.EACCES, None),
    ],
)
def test_code_of_the_system_decides_and_also_git_without_one(
    code: int, status: int | None
) -> None:
    words = os.strerror(code)
    with_code, without = OSError(code, words), OSError(f"failed to write: {words}")
    around = RuntimeError("the wiki cannot be changed")
    around.__cause__ = without
    for error in (with_code, without, around):
        refusal = disk_refusal(error)
        assert (refusal and refusal.status) == status


def test_database_that_is_full_or_read_only_is_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE texts (text)")
        database.commit()
        database.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as full:
            database.execute("INSERT INTO texts VALUES (?)", ["x" * 100_000])
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database,
        pytest.raises(sqlite3.OperationalError) as read_only,
    ):
        database.execute("INSERT INTO texts VALUES ('x')")
    statuses = [disk_refusal(caught.value) for caught in (full, read_only)]
    assert [one and one.status for one in statuses] == [507, 500]


@pytest.mark.parametrize("words", ["no error", "object not found - no match for id"])
def test_write_of_git_that_fails_without_words_is_the_disk(
    tmp_path: Path, words: str
) -> None:
    room = shutil.disk_usage(tmp_path).free
    full = disk_error(pygit2.GitError(words), str(tmp_path), room + 1)
    assert (full.errno, disk_error(ValueError(words), str(tmp_path), 1).errno) == (
        errno.ENOSPC,
        errno.EIO,
    )


def test_commit_that_cannot_be_written_is_no_refusal_of_the_change(
    tmp_path: Path,
) -> None:
    repository = pygit2.init_repository(str(tmp_path / "r.git"), bare=True)
    objects = tmp_path / "r.git/objects"
    shutil.rmtree(objects)
    objects.write_text("in the place of a folder")
    with pytest.raises(OSError) as caught:
        commit_change(
            repository,
            CommitPlan("m", writes={"a.md": b"x"}),
            Author("ann", "ann@example.com"),
            "main",
        )
    assert disk_refusal(caught.value)


# -- a service on a disk of three megabytes ----------------------------------------


@dataclass
class SmallService:
    """A service whose data is on a small disk."""

    url: str
    token: str
    disk: Path

    def ask(
        self, method: str, path: str, body: object = None, *, file: bytes = b""
    ) -> tuple[int, object]:
        """Status and body of an answer."""
        content = json.dumps(body).encode() if body is not None else None
        kind = "application/json"
        if file:
            head = f'--{BORDER}\r\nContent-Disposition: form-data; name="file"'
            content = f'{head}; filename="a.bin"\r\n\r\n'.encode() + file
            content += f"\r\n--{BORDER}--\r\n".encode()
            kind = f"multipart/form-data; boundary={BORDER}"
        request = urllib.request.Request(
            f"{self.url}/api/v4{path}",
            method=method,
            data=content,
            headers={"PRIVATE-TOKEN": self.token, "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def leave(self, blocks: int) -> None:
        """Leave room for so many blocks of the disk."""
        rest = self.disk / "rest"
        rest.unlink(missing_ok=True)
        with rest.open("wb") as file:
            while True:
                disk = os.statvfs(self.disk)
                size = (disk.f_bavail - blocks) * disk.f_frsize
                try:
                    return os.posix_fallocate(file.fileno(), 0, size)
                except OSError as error:
                    # the service may have taken some of it since it was looked at
                    if error.errno != errno.ENOSPC:
                        raise

    def fill(self) -> None:
        """Upload files until not even a small one fits."""
        for size in (200_000, 20_000, 1_000):
            path = "/projects/1/wikis/attachments"
            while self.ask("POST", path, file=os.urandom(size))[0] == 201:
                pass


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallService]:
    """Skipped where this machine lets nobody mount a disk."""
    data = tmp_path / "data"
    data.mkdir()
    mount = f"mount -t tmpfs -o size=3m tmpfs {data}"
    if (
        not shutil.which("unshare")
        or subprocess.run(
            [*IN_A_NAMESPACE, "sh", "-c", mount], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no disk can be mounted here")
    serve = f"exec {sys.executable} -m wikisync serve --data {data}/d --port 0"
    process = subprocess.Popen(
        [*IN_A_NAMESPACE, "sh", "-c", f"{mount} && {serve}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline() + process.stdout.readline()
        token, url = re.search(r"glpat-\S+", said), re.search(r"http://\S+", said)
        assert token, said
        assert url, said
        disk = Path(f"/proc/{process.pid}/root{data}")
        service = SmallService(url[0], token[0], disk)
        assert service.ask("POST", "/projects", {"name": "p"})[0] == 201
        home = {"title": "home", "content": "one\n"}
        assert service.ask("POST", "/projects/1/wikis", home)[0] == 201
        yield service
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_full_disk_is_507_on_every_way_to_write(small: SmallService) -> None:
    small.fill()
    wikis = "/projects/1/wikis"
    new = {"title": "new", "content": "x\n"}
    large = {"title": "large", "content": "x" * 2_500_000}
    assert small.ask("POST", wikis, new) == (507, FULL)
    assert small.ask("POST", wikis, large) == (507, FULL)
    assert small.ask("PUT", f"{wikis}/home", {"content": "two\n"}) == (507, FULL)
    assert small.ask("DELETE", f"{wikis}/home") == (507, FULL)
    small_file = small.ask("POST", f"{wikis}/attachments", file=b"x" * 9_000)
    assert small_file == (507, FULL)
    statuses = {
        small.ask("POST", "/projects", {"name": f"q{number}"})[0]
        for number in range(30)
    }
    assert statuses <= {201, 507}
    assert 507 in statuses
    assert small.ask("GET", f"{wikis}/home")[1]["content"] == "one\n"  # type: ignore[index]


def test_edit_that_was_answered_is_there_whatever_room_is_left(
    small: SmallService,
) -> None:
    """Git's library says nothing where the branch alone could not be written."""
    home = "/projects/1/wikis/home"
    statuses: set[int] = set()
    for blocks in range(12):
        small.leave(blocks)
        for number in range(3):
            text = f"{blocks}, {number}\n"
            status, said = small.ask("PUT", home, {"content": text})
            shown = small.ask("GET", home)[1]["content"]  # type: ignore[index]
            assert shown == text if status == 200 else (status, said) == (507, FULL)
            statuses.add(status)
    assert statuses == {200, 507}


def test_first_page_is_507_or_there_whatever_room_is_left(small: SmallService) -> None:
    """A 400 or 500 would say that the page is to blame."""
    statuses: set[int] = set()
    for blocks in range(12):
        small.leave(60)
        made = small.ask("POST", "/projects", {"name": f"q{blocks}"})
        wikis = f"/projects/{made[1]['id']}/wikis"  # type: ignore[index]
        small.leave(blocks)
        new = {"title": "home", "content": "one\n"}
        status, said = small.ask("POST", wikis, new)
        assert status == 201 or (status, said) == (507, FULL)
        listed = small.ask("GET", wikis)[1]
        assert len(listed) == (status == 201)  # type: ignore[arg-type]
        statuses.add(status)
    assert statuses == {201, 507}


def test_fork_on_a_full_disk_does_not_end_the_service(small: SmallService) -> None:
    statuses: set[int] = set()
    for blocks in range(12):
        small.leave(blocks)
        for number in range(3):
            name = f"f{blocks}-{number}"
            fork = {"name": name, "path": name}
            statuses.add(small.ask("POST", "/projects/1/fork", fork)[0])
            assert small.ask("GET", "/projects/1")[0] == 200
    assert statuses >= {201, 507}


async def test_push_to_a_full_disk_is_refused_and_changes_nothing(
    small: SmallService, tmp_path: Path
) -> None:
    def git(*words: str) -> subprocess.CompletedProcess[str]:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
        return subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    address = small.url.replace("://", f"://ann:{small.token}@")
    assert git("clone", f"{address}/root/p.wiki.git", "clone").returncode == 0
    await asyncio.to_thread(small.fill)
    (tmp_path / "clone/new.md").write_bytes(os.urandom(400_000).hex().encode())
    git("-C", "clone", "add", ".")
    git("-C", "clone", "commit", "-m", "new")
    pushed = git("-C", "clone", "push")
    assert pushed.returncode != 0
    assert re.search("507|500|space left|remote", pushed.stderr), pushed.stderr
    listed = await asyncio.to_thread(small.ask, "GET", "/projects/1/wikis")
    assert [page["slug"] for page in listed[1]] == ["home"]  # type: ignore[attr-defined]
