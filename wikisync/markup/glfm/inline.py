"""Running text: code, escapes, formulas, wiki links, emphasis, and the loop over it."""

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import isPunctChar, isWhiteSpace, unescapeAll
from markdown_it.parser_inline import ParserInline, RuleFuncInlineType
from markdown_it.rules_inline import StateInline, backtick, strikethrough
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from wikisync.markup.tokens import escape

# Once it found no end of a run of backticks, it remembers where the last run of each
# length stands. Each code span that it finds then overwrites that with its own end, so
# that the next span of the same length is text.

RUN = re.compile("`+")
NO_END = 0
"""Key, beside lengths of runs, of where the end of one was not found."""


def code(state: StateInline, silent: bool) -> bool:
    """A code span, or a run of backticks as text."""
    run = RUN.match(state.src, state.pos)
    if run is None or not backtick(state, silent):
        return False
    if silent:
        return True  # the service's parser has no lookahead
    length = len(run[0])
    if state.pos == run.end():
        state.backticks[NO_END] = run.start()
    elif NO_END in state.backticks:
        state.backticks[length] = state.pos - length
    return True


def struck(state: StateInline, silent: bool) -> bool:
    """Tildes; their width keeps one between letters from ending what two begin."""
    count = len(state.delimiters)
    found = strikethrough.tokenize(state, silent)
    for delimiter in state.delimiters[count:]:
        delimiter.length = len(state.tokens[delimiter.token].content)
    return found


ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def escaped(state: StateInline, silent: bool) -> bool:
    """A backslash before ASCII punctuation; before others, but line ends, text."""
    position = state.pos + 1
    if state.src[state.pos] != "\\" or position >= state.posMax:
        return False
    if state.src[position] == "\n":
        return False
    if state.src[position] not in ESCAPABLE:
        if not silent:
            # text, not a token: an address may begin behind it
            state.pending += "\\"
        state.pos = position
        return True
    if not silent:
        token = state.push("escaped", "", 0)
        token.content = state.src[position]
        token.markup = "\\" + token.content
    state.pos = position + 1
    return True


# A single dollar opens only before something that is no space, and closes only behind
# something that is no space and before no digit, so prices stay prices.

DOLLARS = re.compile(r"\$+")
CODE_OPEN, CODE_CLOSE = "$`", "`$"
SPACES = frozenset(" \t\n")
DIGITS = frozenset(string.digits)


def math_inline(state: StateInline, silent: bool) -> bool:
    """A formula, or dollars as text."""
    if state.src[state.pos] != "$":
        return False
    if state.src.startswith(CODE_OPEN, state.pos):
        return math_code(state, silent)
    opening = DOLLARS.match(state.src, state.pos, state.posMax)
    assert opening is not None
    width = len(opening[0])
    end = find_end(state, opening.end(), width) if width <= 2 else -1
    if not silent:
        if end < 0:
            state.append_pending(opening[0])
        else:
            content = state.src[opening.end() : end]
            push_math(state, content, "display" if width == 2 else "inline", "span")
    state.pos = opening.end() if end < 0 else end + width
    return True


def find_end(state: StateInline, start: int, width: int) -> int:
    """Position of the closing dollars, or -1."""
    source, is_single = state.src, width == 1
    if is_single and (start >= state.posMax or source[start] in SPACES):
        return -1
    position = source.find("$", start, state.posMax)
    while position >= 0:
        before, end = source[position - 1], position + 1
        if is_single and before in SPACES:
            return -1
        if is_single and before != "\\":
            return -1 if source[end : end + 1] in DIGITS else position
        if not is_single and source.startswith("$$", position, state.posMax):
            return position
        position = source.find("$", end, state.posMax)
    return -1


def math_code(state: StateInline, silent: bool) -> bool:
    """The form with a backtick inside each dollar."""
    start = state.pos + len(CODE_OPEN)
    if last_of(CODE_CLOSE, state, len(state.src)) < start:
        return False
    # the opening one is half of a closing one to the parser, which then gives up
    end = state.src.find(CODE_CLOSE, start - 1, state.posMax)
    if end <= start:
        return False
    if not silent:
        push_math(state, state.src[start:end], "inline", "code")
    state.pos = end + len(CODE_CLOSE)
    return True


def last_of(sign: str, state: StateInline, end: int) -> int:
    """Position of the last such sign before ``end``, or -1; searched for once.

    It is kept beside what ``skipToken`` remembers, whose keys are positions; those here
    are negative, odd for signs of one character and even for those of two.
    """
    key = -2 * end - len(sign)
    known = state.cache.get(key)
    if known is None:
        known = state.cache[key] = state.src.rfind(sign, 0, end)
    return known


def push_math(state: StateInline, content: str, style: str, tag: str) -> None:
    """Add the token; line ends in an inline formula are spaces."""
    token = state.push("math_inline", tag, 0)
    token.content = content.replace("\n", " ") if style == "inline" else content
    token.info = style


def render_math(tokens: Sequence[Token], idx: int) -> str:
    """The element that the filter for formulas rewrites."""
    token = tokens[idx]
    return (
        f'<{token.tag} data-math-style="{token.info}">'
        f"{escape(token.content)}</{token.tag}>"
    )


WIKILINK = re.compile(
    r"\[\[((?>(?:[^\[\]|\\]++|\\.)*))(?:\|((?>(?:[^\[\]|\\]++|\\.)*)))?\]\]", re.DOTALL
)
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def wikilink(state: StateInline, silent: bool) -> bool:
    """A wiki link outside of other links; its text is no markdown."""
    if not state.src.startswith("[[", state.pos) or state.linkLevel > 0:
        return False
    if is_in_opening(state.src, state.pos) or is_in_brackets(state.src, state.pos):
        return False
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        text = unescapeAll(match[1]).strip()
        target = text if match[2] is None else unescapeAll(match[2]).strip()
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": state.md.normalizeLink(target), "data-wikilink": "true"}
        # escaped characters are marked as everywhere
        for number, piece in enumerate(ESCAPED.split(match[1].strip())):
            if piece:
                content = piece if number % 2 else unescapeAll(piece)
                state.push("escaped" if number % 2 else "text", "", 0).content = content
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def is_in_opening(source: str, position: int) -> bool:
    """Whether the sign before a position makes one opening with the bracket there."""
    if not position or source[position - 1] not in "![":
        return False
    sign = first = position - 1
    while first and source[first - 1] == "\\":
        first -= 1
    return (sign - first) % 2 == 0


def is_in_brackets(source: str, position: int) -> bool:
    """Whether an open bracket stands before a position: no wiki link begins there."""
    last = source.rfind("[", 0, position)
    if last < 0 or source.find("]", last, position) >= 0:
        return False
    return source[last - 1 : last] != "\\"


# CommonMark lets ``**text！**more`` open and not close, since it waits for a space
# behind the sign; the service's parser takes the letters and signs of Chinese, Japanese
# and Korean, which have no spaces, for letters. And it reads past tildes: the second
# run in ``**a ~~**`` stands behind a space and cannot close.

WIDE = frozenset("WF")
FIRST_CJK = 0x1100


class FlankedState(StateInline):
    """Running text whose runs of ``*``, ``_`` and ``~`` see these neighbours."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - overridden
        """Whether the run at a position can open, and can close, and its length."""
        marker, end = self.src[start], start + 1
        while end < self.posMax and self.src[end] == marker:
            end += 1
        before, after = self._neighbours(start, end)
        return Scanned(*flanks(before, after, splits_words=canSplitWord), end - start)

    def _neighbours(self, start: int, end: int) -> tuple[str, str]:
        """The characters around a run that are no tildes; spaces where none are."""
        source = self.src
        while start and source[start - 1] == "~":
            start -= 1
        while end < self.posMax and source[end] == "~":
            end += 1
        before = source[start - 1] if start else " "
        return before, source[end] if end < self.posMax else " "


def is_cjk(character: str) -> bool:
    """Whether a character stands in text without spaces: wide, and no emoji."""
    return (
        ord(character) >= FIRST_CJK
        and unicodedata.east_asian_width(character) in WIDE
        and unicodedata.category(character) != "So"
    )


def flanks(before: str, after: str, *, splits_words: bool) -> tuple[bool, bool]:
    """Whether markers between two characters can open, and can close.

    CommonMark 0.31.2, 6.2, where the punctuation of CJK counts as letters.
    """
    before_space, after_space = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
    before_sign, after_sign = is_sign(before), is_sign(after)
    left = not after_space and (
        not after_sign or before_space or before_sign or is_cjk(before)
    )
    right = not before_space and (
        not before_sign or after_space or after_sign or is_cjk(after)
    )
    if splits_words:
        return left, right
    can_open = left and (not right or isPunctChar(before))
    return can_open, right and (not left or isPunctChar(after))


def is_sign(character: str) -> bool:
    """Whether a character is punctuation or a symbol outside CJK."""
    category = unicodedata.category(character)[0]
    return category in "PS" and not is_cjk(character)


# -- the loop --------------------------------------------------------------------
#
# The library asks every rule at every character that stops plain text; most pages have
# thousands of such positions and 18 rules.  Here a rule names the characters that it
# starts with, which makes parsing 1.5 times as fast and changes no result.

STARTS: Mapping[str, str] = {
    "newline": "\n",
    "math_inline": "$",
    "escaped": "\\",
    "escape": "\\",
    "backticks": "`",
    "strikethrough": "~",
    "emphasis": "*_",
    "wikilink": "[",
    "link": "[",
    "image": "!",
    "footnote_ref": "[",
    "autolink": "<",
    "html_inline": "<",
    "entity": "&",
    "bare_www": "w",
    "bare_url": ":",
}
"""Rule name to the characters it can start with; an unnamed rule is not asked."""
STOP = re.compile(r"[\n$&*<\[\]\\_`~]|!\[|://|www\.")
"""Where plain text ends; ``]`` only so that the end of a link's text is seen."""


class GlfmInline(ParserInline):
    """The loop, and the same loop for lookahead."""

    def __init__(self) -> None:
        super().__init__()
        self._by_start: dict[str, tuple[RuleFuncInlineType, ...]] | None = None

    def rules_for(
        self, state: StateInline, position: int
    ) -> tuple[RuleFuncInlineType, ...]:
        """Rules worth asking at a position; nothing with a bracket where none closes.

        Without that a page of ``![a`` asks a hundred levels deep at every position.
        """
        if self._by_start is None:
            named = zip(
                self.ruler.get_active_rules(), self.ruler.getRules(""), strict=True
            )
            table: dict[str, list[RuleFuncInlineType]] = {}
            for name, rule in named:
                for start in STARTS.get(name, ""):
                    table.setdefault(start, []).append(rule)
            self._by_start = {start: tuple(rules) for start, rules in table.items()}
        character = state.src[position]
        if character in "![" and last_of("]", state, state.posMax) < position:
            return ()
        return self._by_start.get(character, ())

    def parse(
        self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]
    ) -> list[Token]:
        """Make the tokens of a text."""
        state = FlankedState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens

    def tokenize(self, state: StateInline) -> None:
        """Make the tokens of the state's text."""
        source, end = state.src, state.posMax
        is_open = state.level < state.md.options["maxNesting"]
        while state.pos < end:
            position = state.pos
            found = STOP.search(source, position, end)
            stop = found.start() if found else end
            if stop > position:
                state.append_pending(source[position:stop])
                state.pos = stop
                continue
            for rule in self.rules_for(state, position) if is_open else ():
                if rule(state, False):
                    break
            else:
                state.append_pending(source[position])
                state.pos = position + 1
            # each rule that says yes moves on; without that this would never end
            assert state.pos > position
        if state.pending:
            state.pushPending()

    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - overridden
        """Move behind the next token, remembering for each position where that is."""
        position = state.pos
        if (known := state.cache.get(position)) is not None:
            state.pos = known
            return
        state.cache[position] = state.pos = self._skipped(state)

    def _skipped(self, state: StateInline) -> int:
        position = state.pos
        if state.level >= state.md.options["maxNesting"]:
            return state.posMax
        found = STOP.search(state.src, position, state.posMax)
        stop = found.start() if found else state.posMax
        if stop > position:
            return stop
        for rule in self.rules_for(state, position):
            # the level guards against recursion: lookahead makes no tokens
            state.level += 1
            is_match = rule(state, True)
            state.level -= 1
            if is_match:
                assert state.pos > position
                return state.pos
        return position + 1
