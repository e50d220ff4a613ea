"""The REST contract, and the client's half of it.

``schema`` (records) and ``routes`` (paths) are shared with ``wikisync.service``;
``client`` holds the session with a service and ``wikis`` has one method per wiki
operation; ``replica`` shows a wiki behind the client as a ``sync.replica.Replica``.

Below the client, each with one answer to give: ``address`` (what is the service's
URL), ``request`` (what is asked), ``session`` (one exchange), ``retry`` (when
again), ``network`` and ``answers`` (what went wrong), ``paging`` (what comes
next), ``secret`` (the token, unprintable), ``settings`` (the limits).
"""
