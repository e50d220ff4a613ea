"""Which URLs may stand in a page: one list of schemes, one check.  Pure."""

import re

LINK_SCHEMES = frozenset(
    [
        *("http", "https", "ftp", "ftps", "sftp", "mailto", "tel", "sms", "xmpp"),
        *("irc", "ircs", "matrix", "sip", "sips", "geo", "maps", "urn", "doi", "isbn"),
        *("news", "nntp", "git", "ssh", "svn", "bzr", "hg", "smb", "nfs", "afp"),
        *("ldap", "ldaps", "magnet", "callto", "skype", "slack", "teams", "zoommtg"),
        *("rsync", "rtsp", "webcal", "steam", "spotify", "vscode", "zotero"),
        *("obsidian", "notion", "jetbrains", "rdar", "gopher", "gemini", "dict"),
    ]
)
"""Schemes that a link may have; any other loses its address.

The service lets every scheme but three through; the sanitiser wants a list.
"""

MEDIA_SCHEMES = frozenset({"http", "https"})
"""Schemes that a picture, video or sound may have, as in the service."""

COMMON = frozenset({"http", "https", "mailto"})
"""What nearly every URL with a scheme has; accepted without further parsing."""
SCHEME = re.compile(r"([^:/?#]+):")
IGNORED_BY_BROWSERS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]+")


def scheme_of(url: str) -> str:
    """The scheme as a browser would see it, lower case; empty for a relative URL.

    Browsers drop tabs, line ends and control characters: dropping all finds no fewer.
    """
    head, colon, _ = url.partition(":")
    if not colon:
        return ""
    if head in COMMON:
        return head
    match = SCHEME.match(IGNORED_BY_BROWSERS.sub("", url))
    return match[1].lower() if match else ""


def is_safe_url(url: str, schemes: frozenset[str] = LINK_SCHEMES) -> bool:
    """Whether a URL may be written into a page: relative, or an allowed scheme."""
    scheme = scheme_of(url)
    return not scheme or scheme in schemes
