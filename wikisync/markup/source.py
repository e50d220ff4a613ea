"""A page's source before any parser sees it, and as it is shown unparsed.  Pure."""

from __future__ import annotations

import re

from wikisync.markup.tokens import escape

SURROGATE = re.compile("[\ud800-\udfff]")


def clean_source(content: str) -> str:
    """Text without byte order mark, NUL and lone surrogates; lines end in LF."""
    text = content.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = SURROGATE.sub("\ufffd", text)
    return text.replace("\0", "\ufffd")


def source_html(source: str, reason: str) -> str:
    """Source as it is, with a notice that says why it is not rendered."""
    return (
        '<div class="markup-notice" role="note">'
        f"<p>This page is shown as source: {escape(reason)}.</p></div>"
        f'<pre class="code" tabindex="0"><code>{escape(source)}</code></pre>'
    )


def code_html(source: str, language: str) -> str:
    """A block of code in the shape that every format's parser gives."""
    return (
        f'<pre data-canonical-lang="{escape(language)}">'
        f"<code>{escape(source)}</code></pre>\n"
    )
