"""The client's half of the REST contract.

``contract`` has what it shares with the service; ``client`` holds the session with one,
``wikis`` has one method per wiki operation and ``projects`` one per operation on
projects; ``replica`` shows a wiki behind the client as a ``sync.replica.Replica``.

Below the client, each with one answer to give:  ``address`` (what is the service's
URL), ``request`` (what is asked), ``pool`` (one exchange), ``budget`` (when, and when
again), ``network`` and ``answers`` (what went wrong), ``listing`` (a whole list, part
by part), ``values`` (parameters, checked and written), ``upload`` (a file on its way),
``secret`` (the token, unprintable), ``settings`` (the limits).
"""
