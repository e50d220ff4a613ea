"""Sites of very many wikis, kept up to date by workers on several machines.

PostgreSQL holds a row for each wiki, which are the queue, a bucket the states and the
sites.  ``rows`` is every statement on our tables, ``states`` what of a wiki lies in the
bucket, ``cycle`` the order of one cycle, ``landing`` the page that lists all,
``runner`` who takes wikis from the queue, ``worker`` a process that works and looks
which wikis there are, ``doctor`` what has to hold, ``parts`` both servers in a folder.
Needs the extra ``fleet``; only the command line knows of it.
"""
