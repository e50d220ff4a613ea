"""The process that makes a new search index; it ends when its input does."""

from wikisync.site.search_apart import made
from wikisync.site.writers import serve

if __name__ == "__main__":
    serve(made)
