"""Reading what a request sends: query, JSON, form or multipart, within limits.

413 as soon as a body is known to be over the limit; files are streamed to disk.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec
from aiohttp import BodyPartReader, HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from wikisync.core.system.private import make_private_folder
from wikisync.service.answers import Refusal, bad_parameters, malformed, too_large
from wikisync.service.parameters import SentFile
from wikisync.service.settings import KIB, Limits

CHUNK_BYTES = 256 * KIB
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")

MULTIPART = "multipart/form-data"
"""The one form of a body that may hold files."""


async def call_for_body(request: web.BaseRequest) -> None:
    """Let a client go on that waits with a large body until it is asked for."""
    if request.headers.get("Expect", "").lower() != "100-continue":
        return
    if request.can_read_body and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


async def read_body(
    request: web.BaseRequest, limits: Limits, spool: Path, bytes_max: int
) -> dict[str, object]:
    """The body's fields, whichever of the three forms it has; the caller's files."""
    kind = request.content_type
    if kind == MULTIPART:
        return await _read_multipart(request, limits, spool, bytes_max)
    content = await _read_whole(request, min(bytes_max, limits.body_bytes_max))
    if not content:
        return {}
    if kind == "application/json":
        return _parse_json(content)
    if kind == "application/x-www-form-urlencoded":
        return read_fields(content, limits)
    raise Refusal(
        415, {"error": f"The provided content-type '{kind}' is not supported."}
    )


@contextmanager
def spool_folder(parent: Path) -> Iterator[Path]:
    """A folder for the files of one request, gone afterwards."""
    make_private_folder(parent)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


async def _read_whole(request: web.BaseRequest, bytes_max: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.content.iter_chunked(CHUNK_BYTES):
            body += chunk
            if len(body) > bytes_max:
                raise too_large()
    except (web.RequestPayloadError, HttpProcessingError):
        raise bad_parameters(["the request body cannot be unpacked"]) from None
    return bytes(body)


def _parse_json(content: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise bad_parameters(["the request body is not valid JSON"]) from None
    if not isinstance(value, dict):
        raise bad_parameters(["the request body is not a JSON object"])
    pending: list[object] = [value]
    while pending:
        match pending.pop():
            case str() as text:
                _checked(text)
            case dict() as inner:
                pending += [*inner.keys(), *inner.values()]
            case list() as parts:
                pending += parts
    return value


def read_fields(content: bytes, limits: Limits) -> dict[str, object]:
    """The fields of a query or a form; repeated, the last one counts."""
    try:
        # latin-1 keeps every byte apart; the percent-decoding is strict UTF-8
        pairs = parse_qsl(
            content.decode("latin-1"),
            keep_blank_values=True,
            errors="strict",
            encoding="utf-8",
            max_num_fields=limits.fields_max,
        )
    except UnicodeDecodeError:
        raise malformed() from None
    except ValueError:
        raise bad_parameters(["the request has too many fields"]) from None
    fields: dict[str, object] = {}
    for name, value in pairs:
        put_field(fields, _checked(name), _checked(value))
    return fields


def put_field(fields: dict[str, object], name: str, value: object) -> None:
    """Add a field: ``a[]`` is an array's part, ``a[b]`` a key of a hash."""
    head, bracket, rest = name.partition("[")
    if not bracket or not head or not rest.endswith("]"):
        fields[name] = value
        return
    key, held = rest[:-1], fields.get(head)
    if key:
        inner = held if isinstance(held, dict) else {}
        fields[head] = {**inner, key: value}
    else:
        fields[head] = [*(held if isinstance(held, list) else []), value]


def _checked(text: str) -> str:
    if _NO_TEXT.search(text):
        raise malformed()
    return text


async def _read_multipart(
    request: web.BaseRequest, limits: Limits, spool: Path, bytes_max: int
) -> dict[str, object]:
    fields: dict[str, object] = {}
    text_bytes_left = min(bytes_max, limits.body_bytes_max)
    file_bytes_left = min(bytes_max, limits.attachment_bytes_max)
    count = 0
    try:
        reader = await request.multipart()
        while (part := await reader.next()) is not None:
            if not isinstance(part, BodyPartReader) or part.name is None:
                raise bad_parameters(["the multipart body is not valid"])
            count += 1
            if count > limits.fields_max:
                raise bad_parameters(["the request has too many fields"])
            name = _checked(part.name)
            if part.filename is not None:
                file = spool / str(count)
                size = await _spool(part, file, file_bytes_left)
                file_bytes_left -= size
                put_field(fields, name, SentFile(_checked(part.filename), file, size))
            else:
                body = bytearray()
                while chunk := await part.read_chunk(CHUNK_BYTES):
                    body += chunk
                    if len(body) > text_bytes_left:
                        raise too_large()
                text = bytes(body)
                text_bytes_left -= len(text)
                put_field(fields, name, _checked(text.decode()))
    except UnicodeDecodeError:
        raise malformed() from None
    except (ValueError, AssertionError, HttpProcessingError):
        # what aiohttp raises for a boundary or a header that makes no sense
        raise bad_parameters(["the multipart body is not valid"]) from None
    return fields


async def _spool(part: BodyPartReader, path: Path, bytes_max: int) -> int:
    size = 0
    with await asyncio.to_thread(path.open, "wb") as file:
        while chunk := await part.read_chunk(CHUNK_BYTES):
            size += len(chunk)
            if size > bytes_max:
                raise too_large()
            await asyncio.to_thread(file.write, chunk)
    return size
