"""The REST contract that client and service share: paths, parameters, records."""
