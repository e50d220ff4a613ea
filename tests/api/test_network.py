"""Failures that no server on this machine can be made to cause."""

import errno
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from wikisync.api.budget import TransientFailure
from wikisync.api.exchange import Purpose
from wikisync.api.pool import translating
from wikisync.errors import RemoteError, Unavailable

URL = "https://gitlab.example.com/api/v4/version"
PURPOSE = Purpose("read the version")
KEY: Any = SimpleNamespace(host="gitlab.example.com", port=443, ssl=True, is_ssl=True)


def translated(exc: Exception, *, is_known_host: bool) -> Exception:
    with (
        pytest.raises((RemoteError, TransientFailure)) as raised,
        translating(PURPOSE, URL, is_known_host=is_known_host),
    ):
        raise exc
    return raised.value


@pytest.mark.parametrize(
    ("exc", "message", "hint"),
    [
        (
            aiohttp.ClientConnectorCertificateError(
                KEY, ssl.SSLCertVerificationError("self-signed")
            ),
            "the certificate of gitlab.example.com is not trusted",
            "SSL_CERT_FILE",
        ),
        (
            aiohttp.ClientConnectorSSLError(KEY, OSError(1, "wrong version number")),
            "no secure connection to https://gitlab.example.com",
            "http against https",
        ),
        (
            aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "not known")),
            "the host name gitlab.example.com is not known",
            "spelling",
        ),
        (
            aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "refused")),
            "nothing listens at gitlab.example.com:443",
            "the service runs",
        ),
        (
            aiohttp.ClientConnectorError(KEY, OSError(errno.ENETUNREACH, "no route")),
            "gitlab.example.com:443 cannot be reached",
            "network",
        ),
        (
            aiohttp.ConnectionTimeoutError("late"),
            "no answer in time",
            "try again later",
        ),
    ],
)
def test_a_first_connection_that_fails_is_an_error_at_once(
    exc: Exception, message: str, hint: str
) -> None:
    error = translated(exc, is_known_host=False)

    assert isinstance(error, Unavailable)
    assert message in error.message
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "exc",
    [
        aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "refused")),
        aiohttp.ClientConnectorDNSError(KEY, OSError(-3, "temporary")),
        aiohttp.ConnectionTimeoutError("late"),
        aiohttp.SocketTimeoutError("late"),
        TimeoutError(),
        aiohttp.ServerDisconnectedError(),
        ConnectionResetError(),
    ],
)
def test_a_service_that_answered_before_may_come_back(exc: Exception) -> None:
    failure = translated(exc, is_known_host=True)

    assert isinstance(failure, TransientFailure)
    assert isinstance(failure.error, Unavailable)


def test_an_untrusted_certificate_does_not_pass() -> None:
    exc = aiohttp.ClientConnectorCertificateError(
        KEY, ssl.SSLCertVerificationError("expired")
    )

    assert isinstance(translated(exc, is_known_host=True), Unavailable)


def test_an_exception_of_ours_comes_through_unchanged() -> None:
    with pytest.raises(KeyError), translating(PURPOSE, URL, is_known_host=False):
        raise KeyError("ours")
