"""A whole wiki, or a part of it, in one file: HTML, PDF or EPUB."""
