"""A document of the search from its sections."""

from wikisync.markup.record import Section
from wikisync.site.search import SearchDocument
from wikisync.site.search_words import DocumentText


def searched(
    url: str, title: str, *sections: Section, wiki: str = ""
) -> SearchDocument:
    """The document whose texts these are."""
    return SearchDocument(url, title, DocumentText.of(sections), wiki)


SPELLINGS = (
    ("Straße STRAẞE", "strasse strasse"),
    ("œuvre cœur nœud", "oeuvre coeur noeud"),
    ("København Ærlig", "kobenhavn aerlig"),
    ("Łódź Đorđe ışık", "lodz dorde isik"),
)
"""Words as their language writes them, and as they are typed without its keyboard."""
