"""Addresses that a hostile service sends in the place of web addresses."""

from collections.abc import Iterator

SCRIPT = "javascript:attackRan('{0}')//"
NOT_WEB = (
    "javascript:alert(1)",
    "JavaScript:alert(1)//https://gitlab.example.com/a",
    " javascript:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://gitlab.example.com/x",
    "ftp://gitlab.example.com/x",
    "ssh://-oProxyCommand=id/x",
    "//evil.example.com/x",
    "\\\\evil.example.com\\x",
    "https:\\\\evil.example.com",
    "https://gitlab.example.com/\x1b]0;x\x07",
    "https://gitlab.example.com/a\r\nb",
    "https://gitlab.example.com/\u202egnp",
    "https://[::1",
    "https:",
    "x:y",
)
"""None of them may be written to a site, a terminal or a file as an address."""


def hostile_addresses() -> Iterator[tuple[str, str]]:
    """Each with a name."""
    for number, address in enumerate(NOT_WEB):
        yield f"{number:02}-{address.strip()[:12]!r}", address
