"""The library for chat apps and agents."""
