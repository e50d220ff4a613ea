"""Files of a stranger that want to run: on the web server, or in a reader's browser.

Each names itself by calling ``attackRan`` where a browser runs it.  A harness offers
that function, publishes the files, opens them in every way and counts the calls.
"""

from collections.abc import Iterator
from dataclasses import dataclass

SCRIPT = "globalThis.attackRan?.('{0}')"
PAGE = f"<!doctype html><title>x</title><script>{SCRIPT}</script>hello"
XHTML = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title>'
    f"<script>{SCRIPT}</script></head><body/></html>"
)
SVG = 'xmlns="http://www.w3.org/2000/svg" width="20" height="10"'
RED = '<rect width="20" height="10" fill="#f00"/>'
PHP = f'<?php echo "executed"; ?>{PAGE}'
SSI = f'<!--#exec cmd="id" -->{PAGE}'

BROWSER_NAMES = (
    *("a.html", "b.htm", "c.xhtml", "d.xht", "e.shtml", "f.xml", "g.xsl", "h.xslt"),
    *("i.mht", "j.mhtml", "k.svgz", "l.xsd", "m.xbl", "n.atom", "o.rss", "p.rdf"),
    *("q.hta", "r.htc", "s.wml", "t.js", "u.mjs", "v.css", "w.swf", "x.HTML", "y.Htm"),
    *("LICENSE", "no-such-type.drawio", "z.html5", "page.html.en", "page.html.gz"),
    *("page.html.zip", "page.html.tar.xz", "page.html.utf-8", "page.html.drawio"),
)
"""What a browser may take for a page by its name, or by looking into it."""
LOST_TAILS = (
    *("a.html.", "b.html ", "c?.html", "d#.html", "g#x.xhtml", "h.html.. "),
    *("i.html. .", "k?x=.htm", "l.HTML.", "m.html\u00a0", "n.html:", "o.html::$DATA"),
    *("p.html\\", "q.ｈtml", "r.html%20", "s.html;x", "t.html|", "u.html%00.png"),
    f"{'v' * 250}.html",
)
"""Names whose end is lost where it is made fit for a disk or an address."""
SERVER_NAMES = (
    *("a.php", "b.phtml", "c.php5", "d.phar", "e.pht", "f.PHP", "g.php.", "h.php "),
    *("i.php.png", "j.php.txt", "k.phtml.jpg", "l.php.zip", "m.pHp7.gif", "n.php..png"),
    *("o.shtml", "p.stm", "q.asp", "r.aspx", "s.jsp", "t.jspx", "u.cgi", "v.pl"),
    *("w.py", "x.rb", "y.sh", "z.cfm", ".htaccess", ".user.ini", "web.config", "a.lua"),
    *("b.cgi.txt", "c.shtml.png", "d.var", "e.asis", "f.map", "g.pl.pdf", "h?.php"),
)
"""What web servers run or obey, some of them wherever in the name it stands."""


@dataclass(frozen=True)
class HostileFile:
    """One file of an attack."""

    name: str
    content: bytes


def named_pages() -> Iterator[HostileFile]:
    """Pages with a script under every name that may make them one."""
    for name in (*BROWSER_NAMES, *LOST_TAILS):
        is_xml = name.lower().rstrip(".").endswith(("xhtml", "xht", "xml", "xslt"))
        text = XHTML if is_xml else PAGE
        yield HostileFile(name, text.replace("{0}", _label(name)).encode())


def server_programs() -> Iterator[HostileFile]:
    """Programs and settings of web servers."""
    for name in SERVER_NAMES:
        text = SSI if "shtml" in name or "stm" in name else PHP
        yield HostileFile(name, text.replace("{0}", _label(name)).encode())


def drawings() -> Iterator[HostileFile]:
    """SVG files that run something when they are opened; each shows red as well."""
    for name, (head, root, inside) in _DRAWINGS.items():
        text = f"{head}<svg {SVG} {root}>{RED}{inside}</svg>"
        yield HostileFile(f"{name}.svg", text.replace("{0}", name).encode())
    script = f"<svg {SVG}>{RED}<script>{SCRIPT}</script></svg>"
    for name in ("e.svg.", "f?.svg", "g.SVG", "h.svg "):
        yield HostileFile(name, script.replace("{0}", _label(name)).encode())
    head = '<?xml version="1.0" encoding="utf-16"?>'
    text = (head + script).replace("{0}", "utf-16")
    yield HostileFile("utf-16.svg", text.encode("utf-16"))
    yield HostileFile("utf-16-alone.svg", f"<svg {SVG}>{RED}</svg>".encode("utf-16"))
    broken = script.replace("</svg>", "<unclosed").replace("{0}", "broken")
    yield HostileFile("broken.svg", broken.encode())
    yield HostileFile("page.svg", PAGE.replace("{0}", "page").encode())
    yield HostileFile("xhtml.svg", XHTML.replace("{0}", "xhtml").encode())


_HTML = 'xmlns="http://www.w3.org/1999/xhtml"'
_XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
_STYLE_SHEET = (
    "data:text/xml,&lt;xsl:stylesheet version='1.0'"
    " xmlns:xsl='http://www.w3.org/1999/XSL/Transform'/>"
)
_DRAWINGS = {
    "script": ("", "", f"<script>{SCRIPT}</script>"),
    "cdata": ("", "", f"<script><![CDATA[{SCRIPT}]]></script>"),
    "prefix": (
        "",
        'xmlns:s="http://www.w3.org/2000/svg"',
        f"<s:script>{SCRIPT}</s:script>",
    ),
    "html-script": ("", "", f"<script {_HTML}>{SCRIPT}</script>"),
    "html-prefix": (
        "",
        'xmlns:h="http://www.w3.org/1999/xhtml"',
        f"<h:script>{SCRIPT}</h:script>",
    ),
    "onload": ("", f'onload="{SCRIPT}"', ""),
    "onbegin": ("", "", f'<set attributeName="x" onbegin="{SCRIPT}" dur="1s"/>'),
    "onerror": ("", _XLINK, f'<image xlink:href="x:" onerror="{SCRIPT}"/>'),
    "focus": ("", "", f'<a href="#" autofocus="" tabindex="1" onfocus="{SCRIPT}"/>'),
    "data-script": ("", "", f'<script href="data:text/javascript,{SCRIPT}"/>'),
    "iframe": (
        "",
        "",
        (
            f'<foreignObject><iframe {_HTML} srcdoc="&lt;script>parent.{SCRIPT}'
            '&lt;/script>"/></foreignObject>'
        ),
    ),
    "html-image": (
        "",
        "",
        f'<foreignObject><img {_HTML} src="x:" onerror="{SCRIPT}"/></foreignObject>',
    ),
    "meta": (
        "",
        "",
        (
            f'<foreignObject><meta {_HTML} http-equiv="refresh"'
            f' content="0;url=javascript:{SCRIPT}"/></foreignObject>'
        ),
    ),
    "embed": (
        "",
        "",
        f'<foreignObject><embed {_HTML} src="javascript:{SCRIPT}"/></foreignObject>',
    ),
    "link": (
        "",
        "",
        f'<a href="javascript:{SCRIPT}"><rect width="20" height="10"/></a>',
    ),
    "animated": (
        "",
        _XLINK,
        f'<a><animate attributeName="href" values="javascript:{SCRIPT}"/>{RED}</a>',
    ),
    "use": (
        "",
        _XLINK,
        '<use xlink:href="data:image/svg+xml;base64,PHN2Zy8+#x"/><script>'
        + SCRIPT
        + "</script>",
    ),
    "entity": (
        f'<!DOCTYPE svg [<!ENTITY e "&#60;script>{SCRIPT}&#60;/script>">]>',
        "",
        "&e;",
    ),
    "attribute": (f'<!DOCTYPE svg [<!ATTLIST svg onload CDATA "{SCRIPT}">]>', "", ""),
    "style-sheet": (
        f'<?xml-stylesheet type="text/xsl" href="{_STYLE_SHEET}"?>',
        "",
        "",
    ),
    "outer-entity": (
        '<!DOCTYPE svg [<!ENTITY e SYSTEM "data:text/xml,x">]>',
        "",
        "&e;",
    ),
    "base": (
        "",
        f'xml:base="javascript:{SCRIPT}//"',
        '<a href="#x"><rect width="20" height="10"/></a>',
    ),
}


def _label(name: str) -> str:
    """A name that can stand in a script."""
    return "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in name[:40]
    )
