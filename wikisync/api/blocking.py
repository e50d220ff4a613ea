"""The client for programs without an event loop; its types are in the stub beside."""

from wikisync.api.looped import BlockingClient as Client
from wikisync.api.looped import BlockingProjects as Projects
from wikisync.api.looped import BlockingWiki as Wiki

__all__ = ["Client", "Projects", "Wiki"]
