"""The YAML of front matter as values.  Pure.

PyYAML parses, with libyaml as the service does, and only as far as the limits
allow: its events are read one by one, because a document of brackets costs libyaml
quadratic time and an alias can stand for a text a million times.  Words of YAML 1.1
(``yes``, ``012``, dates) stay the text that a person wrote.
"""

import re
from collections.abc import Mapping

import yaml

from wikisync.markup.source import clean_source

DEPTH_MAX = 20
"""Of lists and mappings inside each other."""
TOO_DEEP = "its values are nested too deeply"
COST_MAX = 100_000
"""Of the characters of a block's values and ``VALUE_COST`` for each, aliases too."""
VALUE_COST = 20
INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
REAL = re.compile(r"[-+]?\d{1,18}\.\d{1,18}")
WORDS: Mapping[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
YAML_TAG = "tag:yaml.org,2002:"
MERGE_KEY = "<<"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class NotMetadata(Exception):
    """A block is no mapping that can be read; not an error of a page.

    ``line`` is that of the block, from 0.
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


def parse_mapping(text: str) -> Mapping[str, object]:
    """The keys of a YAML block in their order; of equal keys the last one counts."""
    try:
        return _Reader(text).mapping()
    except yaml.MarkedYAMLError as error:
        # a key without a colon, an open bracket and an open quote are wrong where
        # they begin; the block around a wrong line is not
        is_block = (error.context or "").startswith("while parsing a block")
        mark = error.problem_mark if is_block else error.context_mark
        mark = mark or error.problem_mark
        reason = " ".join(filter(None, (error.problem, error.context)))
        # libyaml has a limit of its own, which it meets before the first event
        if "nesting depth" in reason:
            reason = TOO_DEEP
        raise NotMetadata(reason, mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        raise NotMetadata("a character is not allowed in YAML", 0) from error


class _Reader:
    """Values from the events of one YAML document."""

    def __init__(self, text: str) -> None:
        # a lone surrogate, which no clean source holds, would end the parser
        self._events = yaml.parse(text.encode("utf-8", "replace"), Loader=_LOADER)
        self._anchors: dict[str, tuple[object, int]] = {}
        """The value of an anchor and what it costs."""
        self._cost = 0

    def mapping(self) -> dict[str, object]:
        for event in self._events:
            if isinstance(event, yaml.MappingStartEvent):
                value = self._value(event, 0)
                assert isinstance(value, dict)
                return value
            if isinstance(event, yaml.NodeEvent):
                raise _refused("it is not a mapping of keys to values", event)
        return {}

    def _value(self, event: yaml.Event, depth: int) -> object:
        assert isinstance(event, yaml.NodeEvent)
        before = self._cost
        self._cost += VALUE_COST
        value: object
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _refused(f"no anchor before it is named {event.anchor}", event)
            value, cost = self._anchors[event.anchor]
            self._cost += cost
        elif isinstance(event, yaml.ScalarEvent):
            self._cost += len(event.value)
            value = _scalar(event)
        else:
            assert isinstance(event, yaml.CollectionStartEvent)
            value = self._collection(event, depth + 1)
        if self._cost > COST_MAX:
            raise _refused("it holds too many values", event)
        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = value, self._cost - before
        return value

    def _collection(self, event: yaml.CollectionStartEvent, depth: int) -> object:
        if depth > DEPTH_MAX:
            raise _refused(TOO_DEEP, event)
        if event.tag not in {None, "!", f"{YAML_TAG}seq", f"{YAML_TAG}map"}:
            raise _refused(f"the tag {event.tag} is not allowed", event)
        if isinstance(event, yaml.SequenceStartEvent):
            values: list[object] = []
            for each in self._events:
                if isinstance(each, yaml.SequenceEndEvent):
                    break
                values.append(self._value(each, depth))
            return values
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        for each in self._events:
            if isinstance(each, yaml.MappingEndEvent):
                break
            if not isinstance(each, yaml.ScalarEvent):
                raise _refused("a key is not a word", each)
            self._cost += len(each.value)
            value = self._value(next(self._events), depth)
            if each.value == MERGE_KEY and each.implicit[0]:
                for parent in value if isinstance(value, list) else [value]:
                    if not isinstance(parent, dict):
                        raise _refused("only a mapping can be merged", each)
                    merged = parent | merged
            else:
                own[each.value] = value
        return merged | own


def _scalar(event: yaml.ScalarEvent) -> object:
    """A number, a boolean, null, or a string."""
    # escapes can say what the source itself may not hold
    text = clean_source(event.value) if event.style == '"' else event.value
    kind = (event.tag or "").removeprefix(YAML_TAG)
    if event.implicit[0] or kind in {"int", "float", "bool", "null"}:
        if text in WORDS:
            return WORDS[text]
        if INTEGER.fullmatch(text):
            return int(text)
        return float(text) if REAL.fullmatch(text) else text
    if kind not in {"", "!", "str"}:
        raise _refused(f"the tag {event.tag} is not allowed", event)
    return text


def _refused(reason: str, event: yaml.Event) -> NotMetadata:
    assert event.start_mark is not None
    return NotMetadata(reason, event.start_mark.line)
