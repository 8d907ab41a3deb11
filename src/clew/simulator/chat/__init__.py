"""Vendors that speak Chat Completions: one generic judge and speaker, and a row of facts for each vendor.

`vendors.toml` says in what a vendor differs (fields, needs, shapes), `rules.toml` what can be wrong with a request and in
whose words. Nothing here asks for a vendor's name.
"""
