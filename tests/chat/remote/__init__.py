"""Conversations over a gateway."""
