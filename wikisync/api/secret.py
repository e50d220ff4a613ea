"""A token that cannot be printed by accident.  Pure."""

from __future__ import annotations

import re
from base64 import b64encode

from wikisync.errors import UsageError

MASK = "***"
GIT_USER = "oauth2"
"""What the service wants as user name where a token is the password."""
_PREFIXED = re.compile(
    r"gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.-]{15,}"
)
"""Tokens of the kinds that the service makes, by their public prefixes."""
_BARE = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{20,}")
"""What old services make; a name of this length rarely has all three."""


def could_be_token(text: str) -> bool:
    """Whether what a person typed may be a token, which nothing must repeat."""
    return bool(_PREFIXED.search(text) or _BARE.fullmatch(text.strip()))


def without_tokens(text: str) -> str:
    """A message without anything that has a token's prefix and length."""
    return _PREFIXED.sub(MASK, text)


class Secret:
    """A token whose ``str``, ``repr`` and formatting show nothing of it."""

    __slots__ = ("_login", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._login = b64encode(f"{GIT_USER}:{value}".encode()).decode()

    @classmethod
    def from_text(cls, text: str) -> Secret | None:
        """The token as a person, a file or a command gives it; None for nothing.

        UsageError for what no header can carry.
        """
        value = text.strip()
        if not value:
            return None
        if not value.isascii() or not value.isprintable() or " " in value:
            raise UsageError(
                "the token contains invalid characters",
                hint="copy the token again into WIKISYNC_TOKEN, without quotes "
                "or line breaks",
            )
        return cls(value)

    def reveal(self) -> str:
        """The token itself; for the request header and nothing else."""
        return self._value

    def reveal_login(self) -> str:
        """The token as git sends it: user and password for HTTP Basic."""
        return self._login

    def redact(self, text: str) -> str:
        """The text with every mention of this token masked, as git sends it, too."""
        return text.replace(self._value, MASK).replace(self._login, MASK)

    def redact_bytes(self, body: bytes) -> bytes:
        """The same for bytes."""
        mask = MASK.encode()
        return body.replace(self._value.encode(), mask).replace(
            self._login.encode(), mask
        )

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")
