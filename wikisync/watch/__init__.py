"""A watch: the runner without end, and what goes on around its cycles."""
