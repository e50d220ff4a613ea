"""The REST contract, and the client's half of it.

``schema`` (records) and ``routes`` (paths) are shared with ``wikisync.service``;
``client`` speaks HTTP; ``wikis`` has one method per wiki operation; ``replica``
shows a wiki behind the client as a ``sync.replica.Replica``.
"""
