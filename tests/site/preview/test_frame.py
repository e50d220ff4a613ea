"""What of a page belongs to its frame: what a preview cannot exchange."""

import pytest

from wikisync.site.preview.pages import frame_digest

PAGE = """\
<!doctype html><html lang="en"><head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="description" content="Words">
<meta property="og:title" content="Guide">
<title>Guide</title>
<link rel="prev" href="home.html">
<link rel="stylesheet" href="a.css">
</head><body>
<header>Docs</header>
<nav class="tree" aria-label="Pages">
<a href="guide.html">Guide</a>
</nav>
<main id="siteContent"><h1>Guide</h1></main>
<footer>Bye</footer>
</body></html>
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<h1>Guide</h1>", "<h1>Other</h1>"),
        ("<title>Guide", "<title>Other"),
        ('og:title" content="Guide"', 'og:title" content="Other"'),
        ('content="Words"', 'content="Other"'),
        ('<link rel="prev" href="home.html">\n', ""),
        ('<a href="guide.html">Guide</a>', "<ul><li>Other</li></ul>"),
    ],
)
def test_text_navigation_and_what_the_head_says_are_exchanged(
    old: str, new: str
) -> None:
    assert PAGE.replace(old, new) != PAGE
    assert frame_digest(PAGE.replace(old, new)) == frame_digest(PAGE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("default-src 'none'", "default-src 'self'"),
        ("a.css", "b.css"),
        ("<header>Docs", "<header>Other"),
        ("Bye", "Other"),
        ('lang="en"', 'lang="de"'),
        ('aria-label="Pages"', 'aria-label="Seiten"'),
        ("<footer>", "<nav></nav><footer>"),
        ("<main ", "<div "),
    ],
)
def test_all_else_is_the_frame(old: str, new: str) -> None:
    assert PAGE.replace(old, new) != PAGE
    assert frame_digest(PAGE.replace(old, new)) != frame_digest(PAGE)
