"""One cycle, from the scans of both sides to the records of what was done."""
