"""Wikis whose published pages stay as they are, because nothing else is left of them.

Their files stay, and so do the theme's that these pages were made with.  What is
around all wikis is made anew, and lists them from what the manifest says of them and
what the last search index holds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from wikisync.site import addresses as layout
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.manifest import PublishedWiki
from wikisync.site.output import Output
from wikisync.site.search import DocumentKey, SearchDocument, read_documents, value_of
from wikisync.site.search_words import document_words, packed_words

SEARCHED_DOCUMENTS = f"{layout.SEARCH_FOLDER}p-"


def kept_paths(known: Iterable[str], wikis: Sequence[PublishedWiki]) -> Iterator[str]:
    """Files of a site that its kept wikis need."""
    beginnings = [
        folder + wiki.prefix for wiki in wikis for folder in ("", layout.HISTORY_FOLDER)
    ]
    lists = [
        of_wiki(wiki.owner, is_only=False).removesuffix(".html")
        for wiki in wikis
        for of_wiki in (layout.wiki_list_path, layout.wiki_changes_path)
    ]
    for path in known:
        # a long list has more parts, -/all/docs/handbook-2.html, and changes a feed
        name = path.removesuffix(".html").removesuffix(".atom")
        stem, _, number = name.rpartition("-")
        is_list = name in lists or (stem in lists and number.isdigit())
        if is_list or path.startswith((layout.ASSETS_FOLDER, *beginnings)):
            yield path


def kept_documents(
    output: Output, wikis: Sequence[PublishedWiki], apart: Path | None
) -> dict[DocumentKey, SearchDocument]:
    """What the last search index says of the pages of kept wikis.

    That of a wiki that is a site of its own lies in a folder, if ``apart`` is one.
    """
    if apart is None:
        documents = _documents(output.known, wikis, output.read)
    else:
        files = (path for path in apart.rglob("*.js") if path.is_file())
        known = (path.relative_to(apart).as_posix() for path in files)
        documents = _documents(known, wikis, lambda path: (apart / path).read_bytes())
    key = partial(hash_of, program_fingerprint())
    return {
        DocumentKey(one.url, one.title, one.wiki, key(one), one.changed): one
        for one in documents
    }


def _documents(
    known: Iterable[str],
    wikis: Sequence[PublishedWiki],
    read: Callable[[str], bytes | None],
) -> Iterator[SearchDocument]:
    indexes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(known):
        top, found, _ = path.rpartition(SEARCHED_DOCUMENTS)
        if found:
            indexes[top].append(path)

    def documents(top: str) -> Iterator[SearchDocument]:
        contents = (read(path) for path in indexes[top])
        return read_documents(value_of(one) for one in contents if one)

    for wiki in wikis:
        for document in documents(wiki.prefix) if wiki.apart else ():
            yield _named(wiki, replace(document, url=wiki.prefix + document.url))
    for document in documents(""):
        for wiki in wikis:
            if document.url.startswith(wiki.prefix):
                yield _named(wiki, document)


def _named(wiki: PublishedWiki, document: SearchDocument) -> SearchDocument:
    """A document with the words that it is found by."""
    slug = document.url[len(wiki.prefix) :].removesuffix(".html")
    slug = "home" if slug == "index" else slug
    words = document_words(document.title, document.text.sections, (), slug)
    label = document.wiki or wiki.title
    return replace(document, wiki=label, words=packed_words(words))
