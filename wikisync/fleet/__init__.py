"""Sites of very many wikis, kept up to date by workers on several machines.

PostgreSQL holds a row for each wiki, which are the queue, a bucket the states and the
sites.  From below: ``settings`` is what a fleet works on, ``rows`` every statement on
our tables, ``states`` what of a wiki lies in the bucket, ``beside`` the links between
its wikis, ``cycle`` the order of one cycle, of a wiki or the page that lists all,
``worker`` a process that looks which wikis there are and runs their cycles.  ``doctor``
tries what has to hold, ``parts`` are both servers in a folder.
Needs the extra ``fleet``; only the command line knows of it.
"""
