"""The command line: one file per command; ``console`` prints, ``context`` wires."""
