"""Real workers that are killed and frozen, and a whole fleet by one command."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet, Workers, is_stopped
from tests.support.waiting import until

WAIT_S = 120


@pytest.fixture
def workers(database: str, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(database, tmp_path)
    try:
        yield workers
    finally:
        workers.end()


async def test_frozen_worker_that_thaws_puts_nothing_over_the_newer_site(
    fleet: Fleet, workers: Workers
) -> None:
    await fleet.work()
    await fleet.write("Words of TWO.")
    frozen = workers.start(fleet, "put", "SIGSTOP", "1")

    await until(lambda: is_stopped(frozen))
    await fleet.write("Words of THREE.")
    workers.start(fleet)

    def is_newest() -> bool:
        return "Words of THREE" in (fleet.page() or "")

    await until(is_newest)
    await fleet.rows.drain(is_draining=True)
    frozen.send_signal(signal.SIGCONT)
    codes = [await asyncio.to_thread(one.wait, WAIT_S) for one in workers.all]
    assert codes == [0, 0]
    assert is_newest()
    await fleet.audit()


def test_one_command_starts_a_fleet_and_shows_its_sites(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "wikisync", "fleet", "try"]
    keys = {"AWS_ACCESS_KEY_ID": "of-another", "AWS_SECRET_ACCESS_KEY": "storage"}
    environment = {**os.environ, **keys, "TMPDIR": str(tmp_path)}
    if os.geteuid() == 0:
        # the server of the database is another user then, who cannot come here
        del environment["TMPDIR"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout
        assert process.stderr
        landing = process.stdout.readline().decode().strip()
        with urllib.request.urlopen(landing) as answer:
            assert "docs/handbook/-/wikis/index.html" in answer.read().decode()
        address = process.stdout.readline().decode().strip()
        assert re.fullmatch(r"http://127.0.0.1:\d+/site/docs/\S*index\.html", address)
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    finally:
        process.terminate()
        told = process.communicate(timeout=WAIT_S)[1].decode()
    assert process.returncode == 130, told
    assert "wikisync fleet status --database" in told
