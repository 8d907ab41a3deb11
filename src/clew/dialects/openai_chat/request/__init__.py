"""Requests of Chat Completions, written from projected requests of the Messages API."""
