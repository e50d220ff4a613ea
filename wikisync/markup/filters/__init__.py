"""The ordered steps of the one pass over a page's sanitised HTML."""
