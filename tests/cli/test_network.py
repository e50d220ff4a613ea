"""Whom a command trusts on the other end of a connection."""

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.wire import Wire, json_answer, listening_wire

LIST_PROJECTS = "from wikisync.cli.start import run; run()"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that is its own authority, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    file = tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    words += " -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [openssl, *words.split(), "-keyout", file, "-out", tmp_path / "part.pem"],
        check=True,
        capture_output=True,
    )
    with file.open("ab") as whole:
        whole.write((tmp_path / "part.pem").read_bytes())
    return file


@pytest.fixture
async def secure_wire(certificate: Path) -> AsyncIterator[Wire]:
    """A service that speaks TLS and knows no project."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with listening_wire(tls) as wire:
        wire.repeats = True
        wire.will(json_answer([]))
        yield wire


async def list_projects(wire: Wire, **environment: str) -> tuple[int, str]:
    """Exit code and stderr of ``wikisync project list`` in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LIST_PROJECTS, "project", "list", wire.url),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "WIKISYNC_TOKEN": "glpat-EXAMPLE", **environment},
    )
    _, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_authorities_that_the_system_trusts_are_trusted(
    secure_wire: Wire, certificate: Path
) -> None:
    code, said = await list_projects(secure_wire, SSL_CERT_FILE=str(certificate))

    assert (code, said) == (0, "")
    assert len(secure_wire.requests) == 1


async def test_an_unknown_certificate_gets_no_token(secure_wire: Wire) -> None:
    code, said = await list_projects(secure_wire)

    assert code == 1
    assert "the certificate of 127.0.0.1 is not trusted" in said
    assert secure_wire.requests == []


async def test_two_first_requests_at_once_trust_the_authority_of_one_file(
    secure_wire: Wire, certificate: Path
) -> None:
    """Company authorities come in one file, which nothing may hide meanwhile."""
    program = (
        "import asyncio, sys\n"
        "from wikisync.api.client import Client\n"
        "async def main():\n"
        "    async with Client(sys.argv[1], 'glpat-EXAMPLE') as client:\n"
        "        async with asyncio.TaskGroup() as group:\n"
        "            for _ in range(2):\n"
        "                group.create_task(client.version())\n"
        "        await client.version()\n"
        "asyncio.run(main())\n"
    )
    secure_wire.answers[:] = [json_answer({"version": "17.0.0"})]

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, secure_wire.url),
        stderr=subprocess.PIPE,
        env={**os.environ, "SSL_CERT_FILE": str(certificate)},
    )
    _, said = await process.communicate()

    assert (process.returncode, said.decode()) == (0, "")
    assert len(secure_wire.requests) == 3
