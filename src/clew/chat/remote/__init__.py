"""Conversations over a gateway that runs elsewhere: the same turns, read and asked over its admin listener."""
