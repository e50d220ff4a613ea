"""Decoders of JSON and MessagePack for a type, each made once; and of texts.  Pure.

A thread that makes or uses a decoder of a class while another one makes its first ends
the process with SIGSEGV, for msgspec takes no lock: so all are made here, by one thread
at a time.  Encoders need none of this.
"""

import codecs
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Self, TypeVar

import msgspec

T = TypeVar("T")

_MAKING = Lock()
_json: Callable[[Any], msgspec.json.Decoder[Any]] = cache(msgspec.json.Decoder)
_msgpack: Callable[[Any], msgspec.msgpack.Decoder[Any]] = cache(msgspec.msgpack.Decoder)


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of JSON for a type."""
    with _MAKING:
        return _json(kind)


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """The decoder of MessagePack for a type."""
    with _MAKING:
        return _msgpack(kind)


def convert(value: object, kind: type[T], *, is_strict: bool = True) -> T:
    """Values of JSON or TOML as a record; unknown keys are left out.

    Unless it is strict 0 and 1 are booleans, as in SQLite.  msgspec.ValidationError.
    """
    json_decoder(kind)
    return msgspec.convert(value, kind, strict=is_strict)


class KeptAsText(msgspec.Struct, frozen=True):
    """A value that is kept as one text."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What ``str`` made; None for anything else."""
        try:
            return json_decoder(cls).decode(text)
        except msgspec.DecodeError:
            return None


def decode_text(content: bytes) -> str:
    """The text of a file that a person edits: UTF-8, or as its byte order mark says."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")
