"""Importing the network library without what this process will not use.

aiohttp reads all the authorities that the system trusts, twice, while it is
imported: a fifth of a short command's time.  Our sessions bring a trust of their
own (``api.trust``), and only where the service speaks TLS.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

AUTHORITIES_VARIABLE = "SSL_CERT_FILE"
"""Where OpenSSL looks for authorities, for whoever sets it."""


def import_network() -> None:
    """Import aiohttp, trusting nobody by itself from then on.

    For commands only: a program that uses aiohttp beside wikisync wants its
    defaults.  Where it is imported already, nothing is done.
    """
    if "aiohttp" not in sys.modules:
        with no_authorities():
            import aiohttp  # noqa: F401 - imported for what it reads meanwhile


@contextmanager
def no_authorities() -> Iterator[None]:
    """Let OpenSSL find no authority while the block lasts.

    Should a connection ever rely on what was read meanwhile, it is refused.
    """
    before = os.environ.get(AUTHORITIES_VARIABLE)
    os.environ[AUTHORITIES_VARIABLE] = os.devnull
    try:
        yield
    finally:
        if before is None:
            del os.environ[AUTHORITIES_VARIABLE]
        else:
            os.environ[AUTHORITIES_VARIABLE] = before
