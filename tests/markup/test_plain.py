from wikisync.core.model import Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.source import to_html


def test_text_is_shown_as_it_stands() -> None:
    html = to_html('a  <b>\n & "c"', ParseContext(Slug("home")))
    assert html == "<pre>a  &lt;b&gt;\n &amp; &quot;c&quot;</pre>\n"
