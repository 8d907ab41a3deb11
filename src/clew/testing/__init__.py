"""Fixtures for testing agents and gateways without a key."""
