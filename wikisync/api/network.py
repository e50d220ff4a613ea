"""Failures below HTTP: aiohttp's and the system's exceptions to our errors.

What may pass is a ``TransientFailure``; a wrong host name or certificate is not.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import aiohttp

from wikisync.api.answers import CutAnswer, Purpose, cut_hint
from wikisync.api.budget import TransientFailure
from wikisync.api.proxy import Proxy
from wikisync.errors import NoAnswerInTime, ProtocolViolation, RemoteError, Unavailable

_OF_PROXIES = (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)
_LATE = "no answer in time"
U = TypeVar("U", bound=Unavailable)
WRITE_HINT = "it is unknown whether the change was made; check before repeating it"


@contextmanager
def translating(
    purpose: Purpose, url: str, *, is_known_host: bool, proxy: Proxy | None = None
) -> Iterator[None]:
    """Turn what the network library raises inside into our errors.

    Until a host has answered, a connection that cannot be made is a wrong URL.
    """
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as exc:
        if proxy is not None and isinstance(exc, _OF_PROXIES):
            raise _refused_by(proxy, exc, purpose, url) from exc
        raise _translated(exc, purpose, url, is_known_host=is_known_host) from exc


def _translated(
    exc: Exception, purpose: Purpose, url: str, *, is_known_host: bool
) -> RemoteError | TransientFailure:
    match exc:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return _untrusted(exc, purpose, url)
        case aiohttp.ClientConnectorError():
            error = _unreachable(exc, purpose, url)
            return TransientFailure(error) if is_known_host else error
        case aiohttp.ConnectionTimeoutError() if not is_known_host:
            return _unanswered(NoAnswerInTime, purpose, url, _LATE)
        case TimeoutError():
            return TransientFailure(_unanswered(NoAnswerInTime, purpose, url, _LATE))
        case aiohttp.ClientPayloadError():
            return TransientFailure(
                CutAnswer(
                    f"cannot {purpose.action}: the response was truncated ({url})",
                    url=url,
                    hint=cut_hint(purpose),
                )
            )
        case aiohttp.ClientResponseError():
            return ProtocolViolation(
                f"cannot {purpose.action}: the server at {url} does not speak HTTP",
                url=url,
                hint="check the port of the URL, and http against https",
            )
        case aiohttp.ClientConnectionError() | OSError():
            broken = "the connection broke"
            return TransientFailure(_unanswered(Unavailable, purpose, url, broken))
        case _:
            return ProtocolViolation(
                f"cannot {purpose.action}: {url} cannot be requested or read:"
                f" {type(exc).__name__}",
                url=url,
            )


def _refused_by(
    proxy: Proxy, exc: Exception, purpose: Purpose, url: str
) -> Unavailable | TransientFailure:
    """The proxy cannot be reached, or makes no connection with the service."""
    named = f"the proxy {proxy.url} ({proxy.variable})"
    if not isinstance(exc, aiohttp.ClientHttpProxyError):
        return Unavailable(
            f"cannot {purpose.action}: {named} cannot be reached",
            url=url,
            hint=f"check {proxy.variable}, or add the service's host to NO_PROXY",
        )
    if exc.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return password_wanted(proxy, purpose, url)
    error = Unavailable(
        f"cannot {purpose.action}: {named} does not connect to the service"
        f" ({exc.status})",
        url=url,
        hint="check the URL of the service, or add its host to NO_PROXY",
    )
    is_fault = exc.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return TransientFailure(error) if is_fault else error


def password_wanted(proxy: Proxy, purpose: Purpose, url: str) -> Unavailable:
    """What a proxy's 407 is raised as, through a tunnel or not."""
    return Unavailable(
        f"cannot {purpose.action}: the proxy {proxy.url} ({proxy.variable}) requires a"
        f" user name and a password",
        url=url,
        hint=f"write them into {proxy.variable}, as http://USER:PASSWORD@HOST:PORT",
    )


def _untrusted(exc: Exception, purpose: Purpose, url: str) -> Unavailable:
    if isinstance(exc, aiohttp.ClientConnectorCertificateError):
        return Unavailable(
            f"cannot {purpose.action}: the certificate of {exc.host} is not trusted",
            url=url,
            hint="set SSL_CERT_FILE to a file with the certificate of its certificate"
            " authority",
        )
    return Unavailable(
        f"cannot {purpose.action}: no secure connection to {url}",
        url=url,
        hint="check the port of the URL, and http against https",
    )


def _unreachable(
    exc: aiohttp.ClientConnectorError, purpose: Purpose, url: str
) -> Unavailable:
    host = f"{exc.host}:{exc.port}"
    if isinstance(exc, aiohttp.ClientConnectorDNSError):
        reason = f"the host name {exc.host} is not known"
        hint = "check the spelling of the URL and the network"
    elif exc.errno == errno.ECONNREFUSED:
        reason = f"nothing listens at {host}"
        hint = "check the port of the URL and that the service runs"
    else:
        reason = f"{host} cannot be reached"
        hint = "check the URL (http against https, the port) and the network"
    return Unavailable(f"cannot {purpose.action}: {reason}", url=url, hint=hint)


def _unanswered(kind: type[U], purpose: Purpose, url: str, reason: str) -> U:
    hint = WRITE_HINT if purpose.is_write else "try again later"
    return kind(f"cannot {purpose.action}: {reason} ({url})", url=url, hint=hint)
