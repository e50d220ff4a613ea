"""References in running text become questions that phase B answers."""

from html import unescape

from wikisync.markup import references
from wikisync.markup.draft import Draft
from wikisync.markup.record import LinkRef

NOT_IN = frozenset({"pre", "code", "tt", "a", "math"})


def filter_references(draft: Draft) -> None:
    """Split texts at their references; the address is not known here."""
    document = draft.document
    indices = document.texts_outside(NOT_IN)
    texts = [document.html[index] for index in indices]
    for number in references.candidates(texts):
        text = texts[number]
        if not references.may_hold_reference(text):
            continue
        pieces: list[str | LinkRef] = []
        start = 0
        for match in references.REFERENCE.finditer(text):
            reference = references.reference_of(match)
            if reference is None:
                continue
            shown = match["slug"] or match[0].removesuffix(match["form"] or "")
            reference = reference._replace(name=unescape(reference.name))
            pieces.append(text[start : match.start()])
            pieces.append(LinkRef("reference", reference.written(), "", shown))
            start = match.end()
        if pieces:
            document.split_texts[indices[number]] = [*pieces, text[start:]]
