"""aioresponses that also plays for the newest aiohttp.

aiohttp 3.14 wants a stream writer where a response is made, which aioresponses
0.7.9 does not give.
"""

from typing import Any

from aiohttp import ClientResponse
from aioresponses import aioresponses


class _SentRequest:
    output_size = 0


class PlayedResponse(ClientResponse):
    """An answer to a request whose body has long been sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("stream_writer", _SentRequest())
        super().__init__(*args, **kwargs)


class PlayedNetwork(aioresponses):
    """Answers to requests by URL, without a network."""

    def add(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("response_class", PlayedResponse)
        super().add(*args, **kwargs)

    def asked(self) -> list[str]:
        """Every URL asked, in order of its first request."""
        return [str(url) for (_, url), calls in self.requests.items() for _ in calls]
