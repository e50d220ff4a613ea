"""Texts of pages that try something on their readers, one attack each.

They are our own, after the kinds that are known.  ``tests.markup`` reads the HTML that
they become, a browser shows it, and ``attack_pages`` makes whole wikis of them.
"""

from wikisync.core.model import Format

SCRIPT_URLS = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "&#106;avascript:alert(1)",
    "&#x6a;avascript&#58;alert(1)",
    "java&#10;script:alert(1)",
    "java&Tab;script:alert(1)",
    "javascript&colon;alert(1)",
    "\x01javascript:alert(1)",
    "&#1;javascript:alert(1)",
    "&nbsp;javascript:alert(1)",
    "vbscript:msgbox(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD4=",
    "data:image/svg+xml,<svg onload=alert(1)>",
    "view-source:javascript:alert(1)",
    "feed:javascript:alert(1)",
    "blob:https://x/y",
    "filesystem:http://x/y",
    "file:///etc/passwd",
    "livescript:x",
    "mhtml:x",
    "jar:http://x!/y",
]
MARKDOWN = [
    *(f"[x]({url})" for url in SCRIPT_URLS),
    *(f"[x](<{url}>)" for url in SCRIPT_URLS),
    *(f"![x]({url})" for url in SCRIPT_URLS),
    *(f"[x][r]\n\n[r]: {url}" for url in SCRIPT_URLS),
    *(f"[[x|{url}]] [[{url}]]" for url in SCRIPT_URLS),
    *(f"<{url}>" for url in SCRIPT_URLS),
    *(f'<a href="{url}">x</a>' for url in SCRIPT_URLS),
    *(f'<img src="{url}">' for url in SCRIPT_URLS),
    *(f'<video src="{url}"></video><audio src="{url}">' for url in SCRIPT_URLS),
    *(f'<blockquote cite="{url}">x</blockquote>' for url in SCRIPT_URLS),
    "[x](javascript://a%0Aalert(1)) javascript://a%0Aalert(1)",
    '[x](x "onmouseover=alert(1)") [x](x \'" onmouseover="alert(1)\')',
    '![x" onerror="alert(1)](x)',
    '![x](x" onerror="alert(1))',
    '![x](<x" onerror="alert(1)>){width=1 onload=x}',
    '```x" onload="alert(1)\ncode\n```',
    '```"><script>alert(1)</script>\ncode\n```',
    "```mermaid\n</pre><script>alert(1)</script>\n```",
    "```kroki\n</pre><img src=x onerror=alert(1)>\n```",
    "```html\n<script>alert(1)</script>\n```",
    "$`</span><script>alert(1)</script>`$",
    "$\\href{javascript:alert(1)}{x}$ $\\text{<img src=x onerror=alert(1)>}$",
    "$\\unicode{x3c}script$ $</math><script>alert(1)</script>$",
    "# <script>alert(1)</script> <img src=x onerror=alert(1)>",
    '# "><script>alert(1)</script>\n\n[[_TOC_]]',
    '# a" onclick="alert(1)\n\n[TOC]',
    '[^"><script>]: x\n\na[^"><script>]',
    '[^x"onclick=alert(1)]: x\n\na[^x"onclick=alert(1)]',
    '- [ ] "><script>alert(1)</script>\n- [x] <img onerror=x src=y>',
    "> [!note] <script>alert(1)</script>\n> x",
    "| <script>alert(1)</script> | [x](javascript:alert(1)) |\n|--|--|",
    '`#F00" onload="alert(1)` `rgb(0,0,0)"><script>`',
    '{+ <script>alert(1)</script> +} {- "><img src=x onerror=y> -}',
    "---\ntitle: <script>alert(1)</script>\n---\nx",
    "+++\n</code></pre><script>alert(1)</script>\n+++\nx",
    '[[<script>alert(1)</script>]] [[x|" onclick="alert(1)]]',
    '[a](b c" onclick="alert(1))',
    'http://x.y/"onclick="alert(1) www.x.y/<script>',
]
RAW_HTML = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\n>alert(1)</script\t>",
    "<script/src=//evil.example>",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src=x/onerror=alert(1)>",
    "<img src=x onerror\x0c=alert(1)>",
    '<img """><script>alert(1)</script>">',
    "<img src='x' \x00onerror=alert(1)>",
    '<img srcset="x 1x, javascript:alert(1) 2x">',
    "<image src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml,x#y'/></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><foreignObject><iframe src=javascript:alert(1)></foreignObject></svg>",
    '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
    (
        '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;'
        '&lt;img src=1 onerror=alert(1)&gt;">'
    ),
    "<math><a xlink:href=javascript:alert(1)>x</a></math>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
    '<xmp><p title="</xmp><img src=x onerror=alert(1)>"></xmp>',
    '<textarea><p title="</textarea><img src=x onerror=alert(1)>">',
    '<title><p title="</title><img src=x onerror=alert(1)>">',
    "<select><template><style><!--</style><img src onerror=alert(1)>--></style>",
    "<template><script>alert(1)</script></template>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object><embed src=javascript:alert(1)>",
    "<applet code=x></applet><frameset onload=alert(1)><frame src=x></frameset>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//x'>",
    "<link rel=stylesheet href=//evil.example/x.css><style>@import '//x';</style>",
    "<form action=javascript:alert(1)><button formaction=javascript:alert(1)>x",
    "<input type=image src=x onerror=alert(1)><input autofocus onfocus=alert(1)>",
    "<ul><li><input type=checkbox class=task-list-item-checkbox onclick=alert(1)>",
    "<details open ontoggle=alert(1)><summary onclick=alert(1)>x</summary></details>",
    "<body onload=alert(1)><html onclick=alert(1)>",
    "<div style='background:url(javascript:alert(1))'>x</div>",
    "<td style='text-align: center; background: url(//x)'>x</td>",
    "<div onclick=alert(1) tabindex=0 accesskey=x contenteditable>x</div>",
    "<a href=x onclick=alert(1) ping=//evil.example target=_top>x</a>",
    "<a href='x' name='x' id='x' style='position:fixed;inset:0'>x</a>",
    "<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
    "<video poster=javascript:alert(1)></video><track src=x onload=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee><bgsound src=javascript:alert(1)>",
    "<isindex action=javascript:alert(1)><keygen autofocus onfocus=alert(1)>",
    "<table background=javascript:alert(1)><td background=javascript:alert(1)>",
    "<dialog open onclose=alert(1)>x</dialog><portal src=//evil.example>",
    "<!--><script>alert(1)</script>-->",
    "<!-- --!><script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "<x onclick=alert(1)>x</x><x-y onpointerover=alert(1)>",
    "<pre lang='\"><script>alert(1)</script>'><code>x</code></pre>",
    "<pre lang='mermaid' onclick=alert(1)><code>x</code></pre>",
    "<span data-math-style='\"><script>alert(1)</script>'>x</span>",
    "<a data-wikilink href='javascript:alert(1)'>x</a>",
    "<h1 id='user-content-\"><script>alert(1)</script>'>x</h1>",
    "<section data-footnotes onclick=alert(1)><ol><li id='fn-\"x'>y</ol></section>",
    "<div class='search-box' id='search'>x</div>",
]
SOURCES = [
    *((Format.MARKDOWN, text) for text in MARKDOWN),
    *((Format.MARKDOWN, text) for text in RAW_HTML),
    *(
        (Format.RDOC, text)
        for text in [*RAW_HTML, *(f"{{x}}[{u}]" for u in SCRIPT_URLS)]
    ),
    *(
        (Format.ORG, text)
        for url in SCRIPT_URLS
        for text in (f"[[{url}][x]]", f"#+html: <a href='{url}' onclick=x>x</a>")
    ),
    *((Format.ORG, f"@@html:{text}@@") for text in RAW_HTML),
    *((Format.PLAINTEXT, text) for text in RAW_HTML),
]
ATTACKS = [
    *SOURCES,
    *(
        (Format.ASCIIDOC, text)
        for url in SCRIPT_URLS
        for text in (f"link:{url}[x]", f"image::{url}[x]", f'video::{url}["x"]')
    ),
    *((Format.ASCIIDOC, f"++++\n{text}\n++++") for text in RAW_HTML),
    *((Format.ASCIIDOC, f"x pass:[{text}] +++{text}+++") for text in RAW_HTML),
    *((Format.REST, f"`x <{url}>`_\n\n.. image:: {url}") for url in SCRIPT_URLS),
    *((Format.REST, f".. raw:: html\n\n   {text}") for text in RAW_HTML),
]
"""The same with the formats of other libraries."""
