"""Footnotes as the service's parser has them: names, not numbers, as ids.

A name is the same in capitals, two notes of one name are both shown, and the
time to find the end of a name does not grow with the page.
"""

import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import mdurl
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from msgspec import Struct, field

from wikisync.markup.glfm.block import GlfmState
from wikisync.markup.tokens import escape

DEFINED = "footnotes"
"""Key of the environment for the names that a mention can find, in order."""
DEPTH = "notes around"
NOTES = "notes"
DEFINITION = re.compile(r"\[\^([^\] \t\n\0]{1,1000}+)\]:[ \t]*")
CONTENT_INDENT = 4
MENTION = re.compile(r"\[\^([^\] \n]{1,1000}+)\]")
"""Longer names are none; without an end every ``[^`` would read the whole page."""


class Notes(Struct):
    """The names of one page's notes, each by what ``key_of`` gives for it."""

    names: dict[str, str]
    """How the last definition of each spells it."""
    mentions: dict[str, int] = field(default_factory=dict)
    """How often each is mentioned, in the order of the first mentions."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Position of each in that order, from 1."""


def definition(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A note: what stands behind its name, and all blocks that are indented by four."""
    position = state.bMarks[start_line] + state.tShift[start_line]
    found = DEFINITION.match(state.src, position, state.eMarks[start_line])
    if found is None or state.is_code_block(start_line):
        return False
    if silent:
        return True
    assert isinstance(state, GlfmState)
    defined = state.env.setdefault(DEFINED, [])
    if state.env.get(DEPTH, 0) == 0:
        defined.append(found[1])
    opening = state.push("footnote_reference_open", "", 1)
    opening.meta = {"label": found[1]}
    marks = state.bMarks, state.tShift, state.sCount
    old = [values[start_line] for values in marks]
    parent, state.parentType = state.parentType, "footnote"
    end = end_of_note(state, start_line, end_line)
    state.env[DEPTH] = state.env.get(DEPTH, 0) + 1
    state.enclosing.append(state.blkIndent)
    state.blkIndent += CONTENT_INDENT
    state.bMarks[start_line], state.tShift[start_line] = found.end(), 0
    # whatever the gap behind the name, no code begins there
    state.sCount[start_line] = state.blkIndent
    state.md.block.tokenize(state, start_line, end)
    state.env[DEPTH] -= 1
    state.blkIndent = state.enclosing.pop()
    state.parentType = parent
    for values, value in zip(marks, old, strict=True):
        values[start_line] = value
    state.push("footnote_reference_close", "", -1)
    return True


def end_of_note(state: GlfmState, start_line: int, end_line: int) -> int:
    """The first line that ends a note: a blank one that is not quite empty, too."""
    for line in range(start_line + 1, end_line):
        is_near = state.sCount[line] - state.blkIndent < CONTENT_INDENT
        if state.isEmpty(line):
            if is_near and state.src[state.eMarks[line] - 1] != "\n":
                return line
        elif state.sCount[line] < state.blkIndent and state.begins_block(
            line, end_line
        ):
            break
        elif is_near:
            position = state.bMarks[line] + state.tShift[line]
            is_next = DEFINITION.match(state.src, position, state.eMarks[line])
            if is_next or state.isEmpty(line - 1):
                break
    return end_line


def notes_of(env: MutableMapping[str, Any]) -> Notes | None:
    """The notes of the page that is being parsed; None where none is defined."""
    notes: Notes | None = env.get(NOTES)
    if notes is None and DEFINED in env:
        notes = env[NOTES] = Notes({key_of(name): name for name in env[DEFINED]})
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


class Definition(NamedTuple):
    """A note as it is written."""

    position: int
    """Number of the page's tokens before it."""
    label: str
    content: list[Token]


def move_to_end(state: StateCore) -> None:
    """Put the notes that are mentioned behind the page, in the order of mention.

    Of several with one name the last is meant.  The others stay where they are, and
    the list of notes begins at the first of them: the service's parser forgets to
    drop them.
    """
    notes = notes_of(state.env)
    if notes is None:
        return
    page, defined = take_definitions(state.tokens)
    last = {key_of(each.label): each for each in defined}
    shown = [
        (each, each.position, 0)
        for each in defined
        if each is not last[key_of(each.label)]
    ]
    shown += [(last[key], len(page), count) for key, count in notes.mentions.items()]
    out: list[Token] = []
    start = 0
    for number, (each, position, mentions) in enumerate(shown, 1):
        out += page[start:position]
        out += [Token("footnote_block_open", "", 1)] if number == 1 else []
        out += note(each.label, each.content, number, mentions)
        start = position
    out += page[start:]
    out += [Token("footnote_block_close", "", -1)] if shown else []
    state.tokens = out


def take_definitions(tokens: list[Token]) -> tuple[list[Token], list[Definition]]:
    """The page without its notes, and these; a note in a note is part of it."""
    defined: list[Definition] = []
    page: list[Token] = []
    open_notes: list[Definition] = []
    around = page
    for token in tokens:
        if token.type == "footnote_reference_open":
            open_notes.append(Definition(len(page), str(token.meta["label"]), []))
        elif token.type == "footnote_reference_close":
            ended = open_notes.pop()
            if open_notes:
                open_notes[-1].content.extend(note(ended.label, ended.content, 0, 0))
            else:
                defined.append(ended)
        else:
            around.append(token)
        around = open_notes[-1].content if open_notes else page
    return page, defined


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
    if content and content[-1].type == "footnote_close":
        anchors.clear()
    return [opening, *content, *anchors, *end]


def name_of(token: Token) -> str:
    """Id of a note without its prefix."""
    return escape(mdurl.encode(str(token.meta["label"])))


def mention_name(token: Token) -> str:
    """Id of one mention of a note: the second one ends in ``-2``."""
    count = token.meta["mention"]
    return f"{name_of(token)}-{count}" if count > 1 else name_of(token)


def render_ref(tokens: Sequence[Token], idx: int) -> str:
    """The raised number in the text."""
    token = tokens[idx]
    return (
        f'<sup class="footnote-ref"><a href="#fn-{name_of(token)}"'
        f' id="fnref-{mention_name(token)}" data-footnote-ref>'
        f"{token.meta['number']}</a></sup>"
    )


def render_anchor(tokens: Sequence[Token], idx: int) -> str:
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


RENDERED: Mapping[str, Callable[[Sequence[Token], int], str]] = {
    "footnote_ref": render_ref,
    "footnote_block_open": lambda _tokens, _idx: (
        '<section class="footnotes" data-footnotes>\n<ol>\n'
    ),
    "footnote_block_close": lambda _tokens, _idx: "</ol>\n</section>\n",
    "footnote_open": lambda tokens, idx: f'<li id="fn-{name_of(tokens[idx])}">\n',
    "footnote_close": lambda _tokens, _idx: "</li>\n",
    "footnote_anchor": render_anchor,
}
"""Type of token to its HTML."""
