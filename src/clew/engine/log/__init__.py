"""The log of requests: what is written, and how, with little ado."""
