"""A site on this machine that follows every save: its pages, server and windows."""
