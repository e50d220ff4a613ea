"""The local folder: names, atomic writes, and the folder seen as a replica."""
