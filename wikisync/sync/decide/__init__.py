"""What must be done, and what may not: values and decisions.  Pure, all of it."""
