"""Footnotes as the service's parser has them: names, not numbers, as ids.

mdit-py-plugins finds the definitions.  The rest is our own: a name is the same in
capitals, two notes of one name are both shown, and looking for the end of a name takes
no longer the longer the page is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin
from msgspec import Struct, field

from wikisync.markup.tokens import escape

DEFINED = "footnotes"
"""Key of the environment where the plugin keeps the names that are defined."""
NOTES = "notes"
"""Key of the environment for our own ``Notes``."""
MENTION = re.compile(r"\[\^([^\] \n]{1,1000}+)\]")
"""Longer names are none; without an end every ``[^`` would look through the page."""


class Notes(Struct):
    """The names of one page's notes, each by what ``key_of`` gives for it."""

    names: dict[str, str]
    """How the last definition of each spells it."""
    mentions: dict[str, int] = field(default_factory=dict)
    """How often each is mentioned, in the order of the first mentions."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Place of each in that order, from 1."""


def footnote_rule(md: MarkdownIt) -> None:
    """Enable ``[^name]``; notes in the text (``^[...]``) are not the service's."""
    md.use(footnote_plugin, inline=False)
    md.inline.ruler.at("footnote_ref", mention)
    md.core.ruler.at("footnote_tail", move_to_end)
    md.add_render_rule("footnote_ref", render_ref)
    md.add_render_rule("footnote_block_open", render_block_open)
    md.add_render_rule("footnote_block_close", render_block_close)
    md.add_render_rule("footnote_open", render_open)
    md.add_render_rule("footnote_close", render_close)
    md.add_render_rule("footnote_anchor", render_anchor)


def notes_of(env: MutableMapping[str, Any]) -> Notes | None:
    """The notes of the page that is being parsed; None where none is defined.

    Every definition is known before the first text is parsed.
    """
    notes: Notes | None = env.get(NOTES)
    if notes is None and DEFINED in env:
        names = [name.removeprefix(":") for name in env[DEFINED]["refs"]]
        notes = env[NOTES] = Notes({key_of(name): name for name in names})
    return notes


def key_of(name: str) -> str:
    """What is equal for names that mean one note."""
    return name.casefold()


def mention(state: StateInline, silent: bool) -> bool:
    """``[^name]`` of a note that is defined anywhere on the page."""
    notes = notes_of(state.env)
    found = MENTION.match(state.src, state.pos, state.posMax) if notes else None
    if notes is None or found is None or key_of(found[1]) not in notes.names:
        return False
    if not silent:
        key = key_of(found[1])
        notes.mentions[key] = count = notes.mentions.get(key, 0) + 1
        number = notes.numbers.setdefault(key, len(notes.numbers) + 1)
        token = state.push("footnote_ref", "", 0)
        token.meta = {"label": notes.names[key], "number": number, "mention": count}
    state.pos = found.end()
    return True


def move_to_end(state: StateCore) -> None:
    """Put the notes that are mentioned behind the page, in the order of mention.

    Of several with one name all are shown, and the last leads back to the mentions.
    """
    notes = notes_of(state.env)
    if notes is None:
        return
    defined = take_definitions(state)
    if not notes.mentions:
        return
    state.tokens.append(Token("footnote_block_open", "", 1))
    number = 0
    for key, mentions in notes.mentions.items():
        same = defined[key]
        for place, (label, content) in enumerate(same, 1):
            number += 1
            back = mentions if place == len(same) else 0
            state.tokens += note(label, content, number, back)
    state.tokens.append(Token("footnote_block_close", "", -1))


def take_definitions(state: StateCore) -> dict[str, list[tuple[str, list[Token]]]]:
    """Cut the definitions out of the page: names as written and contents, by key."""
    defined: dict[str, list[tuple[str, list[Token]]]] = defaultdict(list)
    page: list[Token] = []
    around = [page]
    for token in state.tokens:
        if token.type == "footnote_reference_open":
            content: list[Token] = []
            label = str(token.meta["label"])
            defined[key_of(label)].append((label, content))
            around.append(content)
        elif token.type == "footnote_reference_close":
            around.pop()
        else:
            around[-1].append(token)
    state.tokens = page
    return defined


def note(label: str, content: list[Token], number: int, mentions: int) -> list[Token]:
    """One note, with links back to its mentions at the end of its last paragraph."""
    opening = Token("footnote_open", "", 1, meta={"label": label})
    end = [Token("footnote_close", "", -1)]
    if content and content[-1].type == "paragraph_close":
        end.insert(0, content.pop())
    anchors = [
        Token(
            "footnote_anchor",
            "",
            0,
            meta={"label": label, "number": number, "mention": count},
        )
        for count in range(1, mentions + 1)
    ]
    return [opening, *content, *anchors, *end]


def name_of(token: Token) -> str:
    """Id of a note without its prefix."""
    return escape(str(token.meta["label"]))


def mention_name(token: Token) -> str:
    """Id of one mention of a note: the second one ends in ``-2``."""
    count = token.meta["mention"]
    return f"{name_of(token)}-{count}" if count > 1 else name_of(token)


def render_ref(
    self: RendererProtocol,  # noqa: ARG001 - the renderer's signature
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """The raised number in the text."""
    token = tokens[idx]
    return (
        f'<sup class="footnote-ref"><a href="#fn-{name_of(token)}"'
        f' id="fnref-{mention_name(token)}" data-footnote-ref>'
        f"{token.meta['number']}</a></sup>"
    )


def render_block_open(*_: object) -> str:
    """Start of the notes at the page's end."""
    return '<section class="footnotes" data-footnotes>\n<ol>\n'


def render_block_close(*_: object) -> str:
    """End of the notes."""
    return "</ol>\n</section>\n"


def render_open(
    self: RendererProtocol,  # noqa: ARG001
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """Start of one note."""
    return f'<li id="fn-{name_of(tokens[idx])}">\n'


def render_close(*_: object) -> str:
    """End of one note."""
    return "</li>\n"


def render_anchor(
    self: RendererProtocol,  # noqa: ARG001
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """The link from a note back to one of its mentions."""
    token = tokens[idx]
    number, count = token.meta["number"], token.meta["mention"]
    label = f"{number}-{count}" if count > 1 else str(number)
    raised = f'<sup class="footnote-ref">{count}</sup>' if count > 1 else ""
    space = " " if tokens[idx - 1].type in {"inline", "footnote_anchor"} else ""
    end = "\n" if tokens[idx + 1].type == "footnote_close" else ""
    return (
        f'{space}<a href="#fnref-{mention_name(token)}" class="footnote-backref"'
        f' data-footnote-backref data-footnote-backref-idx="{label}"'
        f' aria-label="Back to reference {label}">↩{raised}</a>{end}'
    )
