"""Which files a site gives to browsers under which names: one allow list.  Pure.

An attachment is a file of a stranger.  Three questions are answered here, and only
here, always for the name that is written to the site: may a browser open it, what
content type has it, and which name must it get so that neither a web server nor a
browser runs it.  A name that the list does not have becomes text.
"""

import re
from collections.abc import Mapping

from wikisync.core.packaged import packaged_rows

_TYPES = tuple(packaged_rows(__package__, "file_types.txt"))
OPENED: Mapping[str, str] = {
    extension: kind for use, extension, kind in _TYPES if use == "open"
}
"""Extensions whose files browsers show and never run, with their content types."""
SAVED: Mapping[str, str] = {
    extension: kind for use, extension, kind in _TYPES if use == "save"
}
"""Extensions that files keep and that links save.  A drawing (``.svg``) is among
them because pictures need the name; what a site publishes under it cannot run
(``markup.diagrams``)."""

DRAWING = ".svg"
INERT = ".txt"
OCTETS = "application/octet-stream"

_RUN = re.compile(
    r"\.(?=(?:"
    # what web servers run, some of them wherever in a name it stands
    r"php\d*|phtml?|pht|phps|phar|cgi|fcgi|fpl|plx?|pyc?|rbw?|erb|rhtml|lua|tcl"
    r"|(?:ba|c|k|z)?sh|asp|aspx|asa|asax|ascx|ashx|asmx|cer|cshtml|vbhtml"
    r"|jspx?|jspf|jsw|jsv|jhtml|cfml?|cfc|dbm|asis|var|map|shtml?|stm|ssi"
    # what browsers run, where a server takes a name's other parts for its type
    r"|html?|xhtml?|mhtml?|xml|xslt?|xsd|xbl|svgz|hta|htc|wml|atom|rss|rdf"
    r")(?:\.|\Z)|svg\.)",
    re.IGNORECASE,
)


def file_extension(name: str) -> str:
    """Extension of a file's name with its dot, lower case."""
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def may_open(name: str) -> bool:
    """Whether a browser may open a file of this name, which is the published one."""
    return file_extension(name) in OPENED


def is_drawing(name: str) -> bool:
    """Whether a browser takes a file for a drawing, which may hold scripts."""
    return file_extension(name) == DRAWING


def file_type(name: str) -> str:
    """Content type of a stranger's file by its published name."""
    extension = file_extension(name)
    return OPENED.get(extension) or SAVED.get(extension) or OCTETS


def without_run_names(name: str) -> str:
    """A component of a path without extensions that something runs, anywhere.

    ``shell.php.png`` is a program to some web servers: it becomes ``shell-php.png``.
    """
    return _RUN.sub("-", name)


def inert_name(name: str) -> str:
    """The name under which a stranger's file is published, so that nothing runs it.

    It keeps an extension of the lists.  Any other becomes part of the name of a text:
    ``notes.html`` is ``notes-html.txt``, and ``LICENSE``, of which a browser would
    have to guess what it is, ``LICENSE.txt``.
    """
    name = without_run_names(name)
    extension = file_extension(name)
    if extension in OPENED or extension in SAVED:
        return name
    stem, dot, rest = name.rpartition(".")
    return (f"{stem}-{rest}" if dot and rest else name.replace(".", "-")) + INERT
