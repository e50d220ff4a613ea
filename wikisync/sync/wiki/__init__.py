"""The replicas as a cycle sees them: other names, other links, remembered pages."""
