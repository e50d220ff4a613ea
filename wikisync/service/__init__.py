"""The service itself, embedded: the same REST API on git and SQLite."""
