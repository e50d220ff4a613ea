"""Bare addresses: any ``scheme://``, ``www.``, and e-mail.

Wider than the extension of that name elsewhere: the service takes every scheme,
and finds addresses that have one behind quotes and inside brackets.  Each word is
read once, however many schemes it holds, so the whole is linear in the text.
"""

import re
import string
import unicodedata
from typing import NamedTuple

from markdown_it.common.utils import unescapeAll
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.autolink import AUTOLINK_RE, EMAIL_RE
from markdown_it.token import Token

BRACKETED = re.compile(r"<([^<>]*)>")
SCHEME_BEHIND = re.compile(r"[A-Za-z]+\Z")
SCHEME_CHARS_MAX = 32
WORD = re.compile(r"[^ \t\r\n\0\v\f<]*")
TRIMMED = frozenset("?!.,:*_~'\"")
BRACKETS = {")": "(", "]": "[", "}": "{"}
ENTITY = re.compile(r"&[A-Za-z]+;\Z")
ENTITY_CHARS_MAX = 40
PLAIN_HOST = re.compile(r"([A-Za-z0-9.-]++)(?:[/:?#)]|\Z)")
"""The hosts of nearly all addresses; what else may be one is parsed further."""
WORDS = "words"
"""Key of the environment: the ``Word`` that was read last."""
BEFORE_WWW = frozenset(" \t\r\n*_~([")
LOCAL = string.ascii_letters + string.digits + ".+_-"
DOMAIN = re.compile(r"([A-Za-z0-9_-]++(?>(?:\.[A-Za-z0-9_-]++)+))(/[A-Za-z0-9@./]+)?")
MAIL_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:mailto|xmpp):\Z")
MAIL_SCHEME_CHARS_MAX = len("mailto:")


def bare_url(state: StateInline, silent: bool) -> bool:
    """``scheme://host...`` seen at its colon, where the host may be empty.

    Lookahead sees it too: it swallows the brackets of ``[http://x.y][r]``, as in the
    service.
    """
    position = state.pos
    if state.linkLevel > 0 or not state.src.startswith("://", position):
        return False
    start = position + len("://")
    end = end_of_address(state, start, is_short=True)
    if end < 0 or start == state.posMax:
        return False
    if silent:
        state.pos = end
        return True
    found = SCHEME_BEHIND.search(
        state.src[max(0, position - SCHEME_CHARS_MAX) : position]
    )
    scheme = found[0] if found else ""
    if not state.pending.endswith(scheme):
        return False
    if scheme:
        state.pending = state.pending[: -len(scheme)]
    push_link(state, state.src[position - len(scheme) : end], "")
    state.pos = end
    return True


def bare_www(state: StateInline, silent: bool) -> bool:
    """``www.host...`` where a word begins."""
    position = state.pos
    if state.linkLevel > 0 or not state.src.startswith("www.", position):
        return False
    if position and state.src[position - 1] not in BEFORE_WWW:
        return False
    end = end_of_address(state, position, is_short=False)
    if end < 0:
        return False
    if not silent:
        push_link(state, state.src[position:end], "http://")
    state.pos = end
    return True


def bracketed(state: StateInline, silent: bool) -> bool:
    """``<scheme:address>`` or ``<mail@host>`` as it stands; plain text in a link."""
    found = BRACKETED.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    is_mail = EMAIL_RE.fullmatch(found[1]) is not None
    if not is_mail and AUTOLINK_RE.fullmatch(found[1]) is None:
        return False
    if not silent:
        # a backslash is a character of the address
        address = unescapeAll(found[1].replace("\\", "\\\\"))
        if state.linkLevel > 0:
            state.push("text", "", 0).content = address
        else:
            push_link(state, address, "mailto:" if is_mail else "")
    state.pos = found.end()
    return True


def push_link(state: StateInline, address: str, prefix: str) -> None:
    """Add a link whose text is its address."""
    token = state.push("link_open", "a", 1)
    token.attrs = {"href": state.md.normalizeLink(prefix + address)}
    state.push("text", "", 0).content = address
    state.push("link_close", "a", -1)


class Word(NamedTuple):
    """A stretch of a text without spaces, from where it was first read."""

    source: str
    limit: int
    start: int
    end: int
    bracket: int
    """Position of its last ``](``, or -1."""


def word_at(state: StateInline, start: int) -> Word:
    """The word that holds a position; asking again in the same one costs nothing."""
    known: Word | None = state.env.get(WORDS)
    if (
        known is not None
        and known.start <= start <= known.end
        and known.source is state.src
        and known.limit == state.posMax
    ):
        return known
    match = WORD.match(state.src, start, state.posMax)
    assert match is not None
    bracket = state.src.rfind("](", start, match.end())
    word = Word(state.src, state.posMax, start, match.end(), bracket)
    state.env[WORDS] = word
    return word


def end_of_address(state: StateInline, start: int, *, is_short: bool) -> int:
    """Where an address ends whose host begins at ``start``, or -1."""
    word = word_at(state, start)
    # a word with "](" in it is taken for the text of a link
    if word.bracket >= start or not is_host(state.src, start, word.end, is_short):
        return -1
    return start + trimmed_length(state.src[start : word.end])


def is_host(source: str, start: int, limit: int, is_short: bool) -> bool:
    """Whether a host begins there: no underscore in its last two labels."""
    if (plain := PLAIN_HOST.match(source, start, limit)) is not None:
        return is_short or "." in plain[1]
    end = start
    while end < limit:
        character = source[end]
        is_letter = character.isalnum() or character in "-_.\\"
        # neither space, punctuation nor symbol
        if not is_letter and unicodedata.category(character)[0] in "PSZ":
            break
        end += 1
    labels = source[start:end].split(".")
    if any("_" in label for label in labels[-2:]) and len(labels) <= 10:
        return False
    return is_short or len(labels) > 1


def trimmed_length(word: str) -> int:
    """Length of an address without the punctuation of the sentence around it."""
    end = len(word)
    surplus = {
        close: word.count(close) - word.count(open_)
        for close, open_ in BRACKETS.items()
    }
    while end:
        last = word[end - 1]
        if last in TRIMMED:
            end -= 1
        elif last == ";":
            entity = ENTITY.search(word[max(0, end - ENTITY_CHARS_MAX) : end])
            end -= len(entity[0]) if entity else 1
        elif surplus.get(last, 0) > 0:
            surplus[last] -= 1
            end -= 1
        else:
            break
    return end


# -- e-mail -----------------------------------------------------------------------


def bare_email(state: StateCore) -> None:
    """Find addresses in finished text, where underscores have become text again."""
    if "@" not in state.src:
        return
    for token in state.tokens:
        if token.type != "inline" or not token.children or "@" not in token.content:
            continue
        out: list[Token] = []
        links_around = 0
        for child in token.children:
            if child.type == "link_open":
                links_around += 1
            elif child.type == "link_close":
                links_around -= 1
            if child.type == "text" and not links_around and "@" in child.content:
                out += split_emails(state, child)
            else:
                out.append(child)
        token.children = out


def split_emails(state: StateCore, token: Token) -> list[Token]:
    """One text as texts and links."""
    content = token.content
    out: list[Token] = []
    start = position = 0
    while (sign := content.find("@", position)) >= 0:
        # the search for a name goes back to the sign before: each character once
        local = position + len(content[position:sign].rstrip(LOCAL))
        before = content[max(position, local - MAIL_SCHEME_CHARS_MAX - 1) : local]
        found = MAIL_SCHEME.search(before)
        scheme = found[0] if found else ""
        end = email_end(content, sign, scheme) if local < sign else -1
        if end < 0:
            # what cannot be a domain may be the name in front of the next sign
            position = sign + 1
            continue
        first = local - len(scheme)
        out.append(text_token(token, content[start:first]))
        address = content[first:end]
        link = Token("link_open", "a", 1, level=token.level)
        prefix = "" if scheme else "mailto:"
        link.attrs = {"href": state.md.normalizeLink(prefix + address)}
        out += [link, text_token(token, address)]
        out.append(Token("link_close", "a", -1, level=token.level))
        start = position = end
    out.append(text_token(token, content[start:]))
    return [made for made in out if made.type != "text" or made.content]


def email_end(content: str, sign: int, scheme: str) -> int:
    """Where an address with its sign there ends, or -1 where it is none."""
    match = DOMAIN.match(content, sign + 1)
    if match is None or not match[1][-1].isalpha():
        return -1
    end = match.end(1)
    if content[end : end + 1] == "@":
        return -1
    return match.end() if match[2] and scheme == "xmpp:" else end


def text_token(like: Token, content: str) -> Token:
    """Text at the level of another token."""
    return Token("text", "", 0, content=content, level=like.level)
