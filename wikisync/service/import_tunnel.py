"""The one way out of a process that imports: to addresses resolved once, and checked.

git's library resolves names by itself, for every connection anew, and a name may mean
another machine by then; it also goes where it is redirected.  So it is given this, on
loopback in the same process, which opens connections to the addresses that the name of
the import had when it was resolved, and to nothing else.

The library takes a proxy for https alone: what is encrypted passes through, from end to
end.  For http this is the server that it asks, and asks the real one for it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urljoin, urlsplit, urlunsplit

from wikisync.origin import Origin, origin_of
from wikisync.service.import_address import blocked_network, is_same_server

CONNECT_S = 30.0
LINE_BYTES_MAX = 65_536
HEAD_LINES_MAX = 100
CHUNK_BYTES = 65_536
_CLOSE = b"Connection: close\r\n"
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n" + _CLOSE + b"\r\n"
_OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


class NoWay(Exception):
    """There is no way to a server; the text says why."""


@contextmanager
def tunnel_to(address: str, *, allows_private: bool) -> Iterator[Tunnel]:
    """A way to the server of an http or https address, while the block lasts.

    Raises:
        NoWay: its name is not known, or means a machine that is not for imports.
    """
    origin = origin_of(address)
    if origin is None:
        raise NoWay("it is no http or https address")
    hosts = _resolved(origin, allows_private=allows_private)
    with Tunnel(address, hosts) as tunnel:
        # it ends with the process at the latest
        threading.Thread(target=tunnel.serve_forever, daemon=True).start()
        try:
            yield tunnel
        finally:
            tunnel.shutdown()


class Tunnel(ThreadingTCPServer):
    """A way to one server, by several connections."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: str, hosts: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self._address = address
        self._hosts = hosts
        """The server's addresses, in the order of the resolution."""
        self.failure = ""
        """Why the last connection did not lead there, if it did not."""

    @property
    def host_field(self) -> bytes:
        """What the server is called, as the field of a request's head."""
        return f"Host: {urlsplit(self._address).netloc}\r\n".encode()

    @property
    def proxy(self) -> str:
        """Where https addresses are asked for."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def address(self) -> str:
        """What to ask git's library for instead of the address of the import."""
        return self._inside(self._address)

    def connect(self, wanted: str = "") -> socket.socket:
        """Connect to the server that an address names; by default the import's.

        Raises:
            NoWay: that is another server, or it cannot be reached.
        """
        wanted = wanted or self._address
        self._check(wanted)
        origin = origin_of(wanted)
        assert origin is not None, "it was checked"
        for host in self._hosts:
            with contextlib.suppress(OSError):
                return socket.create_connection((host, origin.port), CONNECT_S)
        self.failure = "its server cannot be reached"
        raise NoWay(self.failure)

    def redirected(self, location: str) -> str:
        """Where a redirection leads git's library, if it may be followed.

        Raises:
            NoWay: to another server.
        """
        # a location without a host is on the same server
        target = urljoin(self._address, location)
        self._check(target)
        return self._inside(target)

    def _check(self, wanted: str) -> None:
        if not is_same_server(self._address, wanted):
            self.failure = "it sends on to another server"
            raise NoWay(self.failure)

    def _inside(self, address: str) -> str:
        parts = urlsplit(address)
        if parts.scheme != "http":
            return address
        return urlunsplit(parts._replace(netloc=urlsplit(self.proxy).netloc))


class _Passage(StreamRequestHandler):
    """One connection of git's library, led through."""

    server: Tunnel

    def handle(self) -> None:
        """Read where it wants to go, and pass bytes on in both directions."""
        line = self.rfile.readline(LINE_BYTES_MAX)
        method, _, rest = line.decode("latin-1").partition(" ")
        try:
            with contextlib.suppress(OSError):
                if method == "CONNECT":
                    self._pass_through(f"https://{rest.partition(' ')[0]}")
                elif line:
                    self._ask(line)
        except NoWay:
            with contextlib.suppress(OSError):
                self.wfile.write(_REFUSED)
        with contextlib.suppress(OSError):
            # also ends the thread that reads, which nothing else would
            self.connection.shutdown(socket.SHUT_RDWR)

    def _pass_through(self, wanted: str) -> None:
        with self.server.connect(wanted) as outside:
            # the deadline of the whole import ends what is silent
            outside.settimeout(None)
            _read_head(self.rfile)
            self.wfile.write(_OPEN)
            self._lead_out(outside)
            while data := outside.recv(CHUNK_BYTES):
                self.wfile.write(data)

    def _ask(self, line: bytes) -> None:
        """Ask the server for one thing; the next one comes by another connection."""
        head = _without(_read_head(self.rfile), {b"host", b"connection"})
        with self.server.connect() as outside, outside.makefile("rb") as answer:
            outside.settimeout(None)
            fields = (self.server.host_field, _CLOSE, *head)
            outside.sendall(line + b"".join(fields) + b"\r\n")
            self._lead_out(outside)
            self._lead_back(answer)

    def _lead_back(self, answer: BufferedIOBase) -> None:
        is_final = False
        while not is_final:
            status = answer.readline(LINE_BYTES_MAX)
            head = _without(_read_head(answer), {b"connection"})
            fields = (_CLOSE, *map(self._redirect, head))
            self.wfile.write(status + b"".join(fields) + b"\r\n")
            # 100: the server waits for the rest of the request
            is_final = not status.partition(b" ")[2].startswith(b"1")
        while data := answer.read1(CHUNK_BYTES):
            self.wfile.write(data)

    def _redirect(self, field: bytes) -> bytes:
        name, _, location = field.partition(b":")
        if name.lower() != b"location":
            return field
        target = self.server.redirected(location.decode("latin-1").strip())
        return f"Location: {target}\r\n".encode("latin-1")

    def _lead_out(self, outside: socket.socket) -> None:
        """Pass on, beside, whatever else git's library sends."""

        def lead() -> None:
            with contextlib.suppress(OSError, ValueError):
                while data := self.rfile.read1(CHUNK_BYTES):
                    outside.sendall(data)
                outside.shutdown(socket.SHUT_WR)

        threading.Thread(target=lead, daemon=True).start()


def _read_head(source: BufferedIOBase) -> list[bytes]:
    """The fields of a head, up to its empty line."""
    fields: list[bytes] = []
    while (line := source.readline(LINE_BYTES_MAX)) not in {b"\r\n", b"\n", b""}:
        fields.append(line)
        if len(fields) > HEAD_LINES_MAX:
            raise NoWay("its head does not end")
    return fields


def _without(fields: list[bytes], names: set[bytes]) -> list[bytes]:
    return [
        field
        for field in fields
        if field.partition(b":")[0].strip().lower() not in names
    ]


def _resolved(origin: Origin, *, allows_private: bool) -> list[str]:
    """The addresses of a host.

    Raises:
        NoWay: it has none, or one of them is not for imports.
    """
    try:
        found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NoWay("the name of its server is not known") from None
    hosts = list(dict.fromkeys(str(one[4][0]) for one in found))
    for host in hosts:
        network = blocked_network(host)
        if network is not None and not allows_private:
            # the address itself would reveal a network that callers do not see
            raise NoWay(f"requests to {network} are not allowed")
    return hosts
