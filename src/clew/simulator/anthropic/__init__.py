"""Vendors that speak the Messages API: Anthropic, and those that copied it."""
