"""Workers in network namespaces of their own, with a cable to each server.

Needs root and ``ip``.  The servers have addresses that every namespace reaches by its
own cables, so that one worker can lose one server while all else goes on::

    with cables(3) as network:
        network.addresses["bucket"]           # where the server is to listen
        [*network.words(0), "program"]        # runs in the first namespace
        network.cut(0, "bucket")
        network.mend(0, "bucket")
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

SERVERS = ("service", "bucket", "database")


class Cables:
    """Networks that exist."""

    def __init__(self, net: str, mark: str) -> None:
        self.addresses = {
            server: f"{net}.255.{number + 1}" for number, server in enumerate(SERVERS)
        }
        self._mark = mark

    def words(self, worker: int) -> Sequence[str]:
        """What a command begins with that runs in the namespace of a worker."""
        return ("ip", "netns", "exec", self.name(worker))

    def name(self, worker: int) -> str:
        return f"{self._mark}{worker}"

    def end(self, worker: int, server: str) -> str:
        """The end of a cable on this side."""
        return f"{self.name(worker)}-{server[:2]}"

    def cut(self, worker: int, server: str) -> None:
        """Let nothing come through, and tell neither side."""
        ip("link", "set", self.end(worker, server), "down")

    def mend(self, worker: int, server: str) -> None:
        """Let all through again."""
        ip("link", "set", self.end(worker, server), "up")


@contextmanager
def cables(workers: int) -> Iterator[Cables]:
    """Networks for so many workers; all is removed in the end."""
    net = f"10.{os.getpid() % 200 + 20}"
    network = Cables(net, f"ws{os.getpid() % 10_000}w")
    with ExitStack() as stack:
        for address in network.addresses.values():
            ip("address", "add", f"{address}/32", "dev", "lo")
            stack.callback(ip, "address", "del", f"{address}/32", "dev", "lo")
        for worker in range(workers):
            name = network.name(worker)
            ip("netns", "add", name)
            # its ends of the cables go with it, and ours with those
            stack.callback(ip, "netns", "del", name)
            ip("-n", name, "link", "set", "lo", "up")
            for number, (server, address) in enumerate(network.addresses.items()):
                end, there = network.end(worker, server), f"to-{server}"
                here = f"{net}.{worker}.{4 * number + 1}"
                ip("link", "add", end, "type", "veth", "peer", there, "netns", name)
                ip("address", "add", f"{here}/30", "dev", end)
                ip("link", "set", end, "up")
                theirs = f"{net}.{worker}.{4 * number + 2}/30"
                ip("-n", name, "address", "add", theirs, "dev", there)
                ip("-n", name, "link", "set", there, "up")
                ip("-n", name, "route", "add", address, "via", here)
        yield network


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
