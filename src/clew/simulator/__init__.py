"""A strict stand-in for the vendors: an independent reading of their rules."""
