"""Exchanges with the service through aiohttp: connections, redirects, limits.

Every exchange is made once here; ``client`` repeats.  The token goes to the service's
own scheme, host and port and nowhere else; URLs are sent as they were encoded, byte for
byte; no answer is read past its limit; the network library repeats nothing by itself,
because it would repeat writes.
"""

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO

import aiohttp
from msgspec.structs import replace
from yarl import URL

from wikisync import errors
from wikisync.api.address import ServiceAddress
from wikisync.api.budget import Clock, parse_retry_after
from wikisync.api.exchange import (
    NOT_HANDED_OUT_HINT,
    NOT_THE_API_HINT,
    Answer,
    CutAnswer,
    NotHandedOut,
    Purpose,
    Request,
    cut_hint,
    headers_of,
)
from wikisync.api.proxy import Proxy
from wikisync.api.refusals import AUTHENTICATION_HINT, error_of
from wikisync.api.secret import Secret
from wikisync.api.settings import ClientSettings
from wikisync.core.terminal import one_line
from wikisync.errors import NoAnswerInTime, ProtocolViolation, RemoteError, Unavailable

_OF_PROXIES = (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)
WRITE_HINT = "it is unknown whether the change was made; check before repeating it"
_CERTIFICATE_HINT = (
    "set SSL_CERT_FILE to a file with the certificate of its certificate authority"
)
_PORT_HINT = "check the port of the URL, and http against https"
_Why = tuple[type[RemoteError], str, str | None, bool]
"""Error, reason, next step, and whether it may be over when asked again."""


@contextlib.contextmanager
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
            kind, reason, hint, may_pass = _why_of_proxy(proxy, exc)
        else:
            kind, reason, hint, may_pass = _why(
                exc, purpose, url, is_known_host=is_known_host
            )
        error = kind(f"cannot {purpose.action}: {reason}", url=url, hint=hint)
        error.may_pass = may_pass
        # the library's own error quotes the answer, which may echo our token
        raise error from None


def _why(exc: Exception, purpose: Purpose, url: str, *, is_known_host: bool) -> _Why:
    again = WRITE_HINT if purpose.is_write else "try again later"
    match exc:
        case aiohttp.ClientConnectorCertificateError():
            reason = f"the certificate of {exc.host} is not trusted"
            return Unavailable, reason, _CERTIFICATE_HINT, False
        case aiohttp.ClientSSLError():
            return Unavailable, f"no secure connection to {url}", _PORT_HINT, False
        case aiohttp.ClientConnectorError():
            return Unavailable, *_unreachable(exc), is_known_host
        case TimeoutError():
            is_first = isinstance(exc, aiohttp.ConnectionTimeoutError)
            may_pass = is_known_host or not is_first
            return NoAnswerInTime, f"no answer in time ({url})", again, may_pass
        case aiohttp.ClientPayloadError():
            reason = f"the response was truncated ({url})"
            return CutAnswer, reason, cut_hint(purpose), True
        case aiohttp.ClientResponseError():
            reason = f"the server at {url} does not speak HTTP"
            return ProtocolViolation, reason, _PORT_HINT, False
        case aiohttp.ClientConnectionError() | OSError():
            return Unavailable, f"the connection broke ({url})", again, True
        case aiohttp.InvalidURL() | UnicodeError():
            reason = f"{url} names no host that can be asked"
            return ProtocolViolation, reason, "check the spelling of the URL", False
        case _:
            reason = f"{url} cannot be requested or read: {type(exc).__name__}"
            return ProtocolViolation, reason, None, False


def _why_of_proxy(proxy: Proxy, exc: Exception) -> _Why:
    """The proxy cannot be reached, or makes no connection with the service."""
    named = f"the proxy {proxy.url} ({proxy.variable})"
    if not isinstance(exc, aiohttp.ClientHttpProxyError):
        hint = f"check {proxy.variable}, or add the service's host to NO_PROXY"
        return Unavailable, f"{named} cannot be reached", hint, False
    if exc.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return Unavailable, *_password_wanted(proxy), False
    reason = f"{named} does not connect to the service ({exc.status})"
    hint = "check the URL of the service, or add its host to NO_PROXY"
    is_fault = exc.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return Unavailable, reason, hint, is_fault


def _password_wanted(proxy: Proxy) -> tuple[str, str]:
    """What a proxy's 407 means, through a tunnel or not, and the next step."""
    return (
        f"the proxy {proxy.url} ({proxy.variable}) requires a user name and a password",
        f"write them into {proxy.variable}, as http://USER:PASSWORD@HOST:PORT",
    )


def _unreachable(exc: aiohttp.ClientConnectorError) -> tuple[str, str]:
    host = URL.build(host=exc.host, port=exc.port).raw_authority
    if isinstance(exc, aiohttp.ClientConnectorDNSError):
        hint = "check the spelling of the URL and the network"
        return f"the host name {exc.host} is not known", hint
    if exc.errno == errno.ECONNREFUSED:
        hint = "check the port of the URL and that the service runs"
        return f"nothing listens at {host}", hint
    hint = "check the URL (http against https, the port) and the network"
    return f"{host} cannot be reached", hint


log = logging.getLogger(__name__)

ERROR_BYTES_MAX = 64 * 1024
"""How much of an error's body is read."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})

KEEP_ALIVE_S = 30.0
"""A connection that nobody uses stays open so long, so that the next hint of a watch,
18 s later at most, needs no new one, whose handshake is larger than the hint."""
SIGN_IN_WORDS = ("sign_in", "signin", "login", "/oauth/", "/saml")
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
HTML_NAMES = (".html", ".htm", ".xhtml")


LateNotice = Callable[[str], contextlib.AbstractContextManager[None]]
"""Says what is waited for, where that takes longer than a person expects."""


class Pool:
    """The connections to one service."""

    def __init__(
        self,
        address: ServiceAddress,
        token: Secret | None,
        settings: ClientSettings,
        clock: Clock,
        proxy: Proxy | None,
        late_notice: LateNotice,
        heard: Callable[[Request, Mapping[str, str]], None],
    ) -> None:
        """``late_notice`` surrounds each wait for an answer; ``heard`` gets headers."""
        self.address = address
        self._late_notice = late_notice
        self._token = token
        self._settings = settings
        self._clock = clock
        self._heard = heard
        self._http: aiohttp.ClientSession | None = None
        self._proxy = proxy
        self._is_known_host = False

    async def open(self) -> None:
        """Make the connection pool; nothing is sent."""
        settings = self._settings
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit_per_host=settings.reads_max, keepalive_timeout=KEEP_ALIVE_S
            ),
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=settings.connect_timeout_s,
                sock_read=settings.read_timeout_s,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_without_silent_repetition,),
            proxy=self._proxy.url if self._proxy else None,
        )

    async def close(self) -> None:
        """Close the pool; requests in flight end with an error."""
        if self._http is not None:
            await self._http.close()
        self._http = None

    async def exchange(self, request: Request) -> Answer:
        """Send one request and read its whole answer: a success, or a 304 if allowed.

        Redirects of reads are followed inside the service.
        """
        url = URL(self.address.url(request.path, request.query), encoded=True)
        for _ in range(self._settings.redirects_max + 1):
            async with self._response(request, url) as response:
                if response.status not in REDIRECTS:
                    return await self._answer(response, request, url)
                url = await self._redirected(response, request, url)
        raise errors.ProtocolViolation(
            f"cannot {request.purpose.action}: the service redirects in a loop",
            url=without_secrets(url),
            hint=NOT_THE_API_HINT,
        )

    async def read_file(
        self, file_url: str, purpose: Purpose
    ) -> AsyncGenerator[bytes, None]:
        """Bytes of a file on the web side, in chunks; NotFound for something else."""
        url = URL(file_url, encoded=True)
        request = Request("GET", url.raw_path, purpose)
        async with self._response(request, url) as response:
            if response.status in REDIRECTS:
                target = self._target(response, url)
                goal = "its sign-in page"
                if target is not None and not _is_sign_in(target):
                    goal = self._shown_target(target)
                raise _not_handed_out(purpose, url, f"redirects to {goal}")
            if response.status != HTTPStatus.OK:
                await self._answer(response, request, url)
                raise AssertionError("a file's answer other than 200 was accepted")
            is_page = response.content_type in HTML_TYPES
            if is_page and not url.path.lower().endswith(HTML_NAMES):
                raise _not_handed_out(purpose, url, "answers with a web page instead")
            limit = self._settings.attachment_bytes_max
            async for chunk in self._chunks(response, limit, purpose, url):
                yield chunk

    @contextlib.asynccontextmanager
    async def _response(
        self, request: Request, url: URL
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._http is not None, "the client is used outside its async with"
        started = self._clock()
        shown = without_secrets(url)
        form = request.form() if request.form else contextlib.nullcontext()
        # a file on its way to the service is expected to take long
        waits_for = request.purpose.action
        notice = (
            contextlib.nullcontext() if request.form else self._late_notice(waits_for)
        )
        translated = translating(
            request.purpose, shown, is_known_host=self._is_known_host, proxy=self._proxy
        )
        plain = request.packets if request.json is None else request.json
        headers = headers_of(request, self.address, self._token)
        if self._proxy is not None and self.address.scheme == "http":
            # without a tunnel the proxy reads, and removes, what is meant for it
            headers.update(self._proxy.headers)
        settings = self._settings
        within_s = settings.connect_timeout_s + settings.read_timeout_s
        within_s += settings.upload_timeout_s if request.form else 0.0
        async with form as body:
            with translated, notice:
                async with asyncio.timeout(within_s):
                    response = await self._http.request(
                        request.method,
                        url,
                        # as a stream: aiohttp warns of more than a MiB of plain bytes
                        data=body if plain is None else BytesIO(plain),
                        headers=headers,
                        allow_redirects=False,
                        proxy_headers=self._proxy.headers if self._proxy else None,
                    )
                async with response:
                    self._is_known_host = True
                    self._heard(request, response.headers)
                    spent_s = self._clock() - started
                    name = response.headers.get("x-request-id", "")
                    if self._token is not None:
                        name = self._token.redact(name)
                    asked = request.method, shown, response.status, spent_s * 1000
                    log.debug("%s %s -> %d in %.0f ms %s", *asked, one_line(name))
                    yield response

    async def _answer(
        self, response: aiohttp.ClientResponse, request: Request, url: URL
    ) -> Answer:
        purpose, status = request.purpose, response.status
        shown = without_secrets(url)
        headers: dict[str, str] = {}
        for name, value in response.headers.items():
            headers.setdefault(name.lower(), value)
        if status == HTTPStatus.NOT_MODIFIED and request.may_be_unchanged:
            return Answer(status, headers, b"", shown)
        is_success = status == HTTPStatus.OK
        if request.is_write:
            is_success = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
        if is_success:
            body = bytearray()
            limit = request.bytes_max or self._settings.answer_bytes_max
            async for chunk in self._chunks(response, limit, purpose, url):
                body += chunk
            return Answer(status, headers, body, shown)
        is_proxys = status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
        if self._proxy is not None and is_proxys:
            reason, hint = _password_wanted(self._proxy)
            raise Unavailable(
                f"cannot {purpose.action}: {reason}", url=shown, hint=hint
            )
        said = bytearray()
        async for chunk in self._pieces(response):
            said += chunk
            if len(said) > ERROR_BYTES_MAX:
                break
        answer = Answer(status, headers, bytes(said), shown)
        raise failure_of(answer, purpose, self._token)

    async def _pieces(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body as it comes in; TimeoutError where it drips and would never end."""
        settings = self._settings
        began, size = self._clock(), 0
        async for piece in response.content.iter_any():
            size += len(piece)
            allowed_s = settings.read_timeout_s + size / settings.bytes_per_s_min
            if self._clock() - began > allowed_s:
                response.close()
                raise TimeoutError
            yield piece

    async def _chunks(
        self, response: aiohttp.ClientResponse, limit: int, purpose: Purpose, url: URL
    ) -> AsyncIterator[bytes]:
        """The body piece by piece, decompressed, and never more than the limit."""
        size = response.content_length or 0
        if size <= limit:
            size = 0
            async for chunk in self._pieces(response):
                size += len(chunk)
                if size > limit:
                    break
                yield chunk
        if size > limit:
            response.close()
            raise errors.AnswerTooLarge(
                f"cannot {purpose.action}: the answer is larger than {limit} bytes",
                url=without_secrets(url),
                hint="if the response should be this large, raise the client's limit",
            )

    async def _redirected(
        self, response: aiohttp.ClientResponse, request: Request, url: URL
    ) -> URL:
        purpose, shown = request.purpose, without_secrets(url)
        target = self._target(response, url)
        if target is None:
            raise errors.ProtocolViolation(
                f"cannot {purpose.action}: {shown} redirects to nowhere",
                url=shown,
                status=response.status,
                hint=NOT_THE_API_HINT,
            )
        goal = self._shown_target(target)
        if _is_sign_in(target):
            raise errors.RefusedInFront(
                f"cannot {purpose.action}: a gateway in front of the service redirects"
                f" to a sign-in page ({goal})",
                url=shown,
                status=response.status,
                hint="ask the administrator of the sign-in page how programs can"
                " access the API"
                + ("" if purpose.has_token else f"; {AUTHENTICATION_HINT}"),
                what=f"it redirects to {goal}",
                is_write=request.is_write,
            )
        is_here = not target.user and self.address.is_same_origin(str(target))
        if is_here and not request.is_write:
            return target
        not_done = (
            "and a change is not sent twice"
            if is_here
            else "where the token is not sent"
        )
        raise errors.ProtocolViolation(
            f"cannot {purpose.action}: {shown} redirects to {goal}, {not_done}",
            url=shown,
            status=response.status,
            hint=self._hint_of(request, target, is_here=is_here),
        )

    def _hint_of(self, request: Request, target: URL, *, is_here: bool) -> str:
        """What to do about a redirect that is not followed.

        Its target is named only if it is the same request on the same host: whoever
        follows the hint gives the token to it.
        """
        is_same = target.raw_query_string == request.query and not target.user
        if is_same and target.raw_path.endswith(request.path):
            base = f"{target.origin()}{target.raw_path.removesuffix(request.path)}"
            if target.host == self.address.host:
                return f"give {base} as the service's URL"
        if is_here:
            return "ask the administrator of the service why it redirects changes"
        return (
            "that may not be the service: do not give it a token; ask the"
            " administrator of the service how programs can access its API"
        )

    def _target(self, response: aiohttp.ClientResponse, url: URL) -> URL | None:
        location = response.headers.get("Location", "")
        if not location or not location.isascii() or not location.isprintable():
            return None
        try:
            target = url.join(URL(location.replace(" ", "%20"), encoded=True))
            target.origin()
        except ValueError:
            return None
        return target if target.scheme in {"http", "https"} else None

    def _shown_target(self, target: URL) -> str:
        shown = without_secrets(target)
        return self._token.redact(shown) if self._token else shown


def failure_of(answer: Answer, purpose: Purpose, token: Secret | None) -> RemoteError:
    """What an answer without success is raised as; it may echo our token."""
    answer = replace(answer, body=bytes(answer.body))
    if token is not None:
        answer = replace(
            answer,
            body=token.redact_bytes(bytes(answer.body)),
            headers={name: token.redact(text) for name, text in answer.headers.items()},
        )
    after_s = parse_retry_after(answer.headers, now=datetime.now(UTC))
    error = error_of(answer, purpose, retry_after_s=after_s)
    error.may_pass = isinstance(error, errors.RateLimited | errors.Unavailable)
    error.after_s = after_s
    return error


def without_secrets(url: URL) -> str:
    """A URL for messages: no user information, no query, no fragment."""
    shown = url.with_query(None).with_fragment(None)
    return str(shown.with_user(None) if shown.user or shown.password else shown)


def _not_handed_out(purpose: Purpose, url: URL, what: str) -> NotHandedOut:
    return NotHandedOut(
        f"cannot {purpose.action}: the service does not serve attachments to tokens;"
        f" it {what}",
        url=without_secrets(url),
        hint=NOT_HANDED_OUT_HINT,
    )


def _is_sign_in(target: URL) -> bool:
    return any(word in target.raw_path.lower() for word in SIGN_IN_WORDS)


async def _without_silent_repetition(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from repeating a request whose connection broke: a write, too."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as exc:
        raise aiohttp.ClientConnectionError(str(exc)) from exc
