"""Whom a command trusts on the other end of a connection."""

from __future__ import annotations

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
from wikisync.cli.network import AUTHORITIES_VARIABLE, no_authorities

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


async def test_an_unknown_certificate_is_refused_with_the_token_unsent(
    secure_wire: Wire,
) -> None:
    code, said = await list_projects(secure_wire)

    assert code == 1
    assert "the certificate of 127.0.0.1 is not trusted" in said
    assert secure_wire.requests == []


def test_no_authority_is_found_while_the_network_library_is_imported(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AUTHORITIES_VARIABLE, str(certificate))

    with no_authorities():
        meanwhile = ssl.create_default_context().cert_store_stats()
    afterwards = ssl.create_default_context().cert_store_stats()

    assert (meanwhile["x509"], afterwards["x509"]) == (0, 1)


def test_a_variable_that_was_not_set_is_not_set_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(AUTHORITIES_VARIABLE, raising=False)

    with no_authorities():
        assert AUTHORITIES_VARIABLE in os.environ

    assert AUTHORITIES_VARIABLE not in os.environ


def test_a_command_imports_the_network_library_without_authorities() -> None:
    """Reading them takes longer than all the rest of aiohttp."""
    script = (
        "import os, ssl\n"
        "def seen(context): print('read', os.environ.get('SSL_CERT_FILE'))\n"
        "ssl.SSLContext.set_default_verify_paths = seen\n"
        "from wikisync.cli.network import import_network\n"
        "import_network()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert set(run.stdout.splitlines()) == {f"read {os.devnull}"}


@pytest.mark.parametrize(
    "name", ["sync", "sync_report", "status", "resolve", "batches"]
)
def test_commands_leave_it_to_import_network_to_load_aiohttp(name: str) -> None:
    """Imported by the way, it reads the system's authorities, twice."""
    program = f"import sys, wikisync.cli.{name}; sys.exit('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == 0
