"""A real S3 server, SeaweedFS from its wheel, in a folder and with ports of its own."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from obstore.store import S3Store

STARTS_WITHIN_S = 120
PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)
WRITER = {"accessKey": "writer", "secretKey": "secret-of-the-writer"}
ALL = ["Admin", "Read", "Write", "List", "Tagging"]


class BucketServer:
    """Where it listens, and who may write; a bucket comes with its first object."""

    def __init__(self, port: int, pid: int) -> None:
        self.address, self.pid = f"http://127.0.0.1:{port}", pid

    def store(self, prefix: str = "") -> S3Store:
        """What lies below a prefix of the bucket ``site``, to write to it."""
        from obstore.store import S3Store  # most tests do without

        return S3Store(
            "site",
            prefix=prefix or None,
            endpoint=self.address,
            region="us-east-1",
            access_key_id=WRITER["accessKey"],
            secret_access_key=WRITER["secretKey"],
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """What names it to a writer."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": WRITER["accessKey"],
            "AWS_SECRET_ACCESS_KEY": WRITER["secretKey"],
        }

    def get(self, path: str) -> tuple[bytes, Mapping[str, str]] | None:
        """An object of the bucket ``site`` as any reader gets it."""
        try:
            with urllib.request.urlopen(f"{self.address}/site/{quote(path)}") as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None


@contextlib.contextmanager
def bucket_server(folder: Path) -> Iterator[BucketServer]:
    """A server that ends with the block."""
    everyone = {"name": "anonymous", "actions": ["Read:site"]}
    writer = {"name": "writer", "credentials": [WRITER], "actions": ALL}
    settings = folder / "s3.json"
    settings.write_text(json.dumps({"identities": [everyone, writer]}))
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in PORTS]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
    words = [
        *(str(Path(sys.executable).with_name("weed")), "server", "-filer", "-s3"),
        *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}"),
        *("-volume.max=0", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"),
        *(f"-s3.config={settings}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(f"-{name}={port}" for name, port in zip(PORTS, ports, strict=True)),
        *(f"-{name}.localSocket={folder}/{name}.sock" for name in ("s3", "filer")),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder)
    server = BucketServer(ports[PORTS.index("s3.port")], process.pid)
    try:
        _wait(server, process, folder / "log")
        yield server
    finally:
        # asked to end, it takes 25 s; what it holds goes with the folder
        process.kill()
        process.wait()


def _wait(server: BucketServer, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until an object can be written, which takes longer than until it answers."""
    import obstore

    store = server.store()
    ends_at = time.monotonic() + STARTS_WITHIN_S
    while True:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            obstore.put(store, "-ready", b"")
        except Exception:
            if time.monotonic() > ends_at:
                raise
            time.sleep(0.1)
        else:
            obstore.delete(store, "-ready")
            return
