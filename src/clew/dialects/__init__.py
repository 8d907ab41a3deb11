"""The wire protocols, one folder each. Pure."""
