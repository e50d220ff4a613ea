"""What of a page a preview can bring up to date without loading it again.  Pure.

A page is its frame and what stands in it: the text (``main``) and the navigation
(``nav``).  While the frame is the same, ``client.js`` exchanges the rest.
"""

import hashlib
import re

_HEAD = re.compile(
    r"""(?:<title>.*?</title>"""
    r"""|<meta (?:name|property)="(?:og:)?(?:description|title)"[^>]*>"""
    r"""|<link rel="(?:prev|next)"[^>]*>)\s*""",
    re.DOTALL,
)
"""What the head says of the page: shown nowhere, or taken over by the script."""
_NAVIGATION = re.compile(r"(<nav\b[^>]*>).*?</nav>", re.DOTALL)


def frame_digest(page: str, pictures: str = "") -> str:
    """Hash of what only loading a page again brings up to date.

    Args:
        page: Its HTML.
        pictures: Hashes of the pictures in it: a browser does not ask for another
            one under the same address while it shows the page.
    """
    head, _, rest = page.partition("<main")
    tail = rest.rpartition("</main>")[2]
    frame = _NAVIGATION.sub(r"\1", _HEAD.sub("", head) + tail)
    frame += pictures
    return hashlib.sha256(frame.encode("utf-8", "replace")).hexdigest()[:16]
