"""A watch: the daemon on real wikis, and what goes on around its cycles."""
