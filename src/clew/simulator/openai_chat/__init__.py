"""Vendors that speak Chat Completions: one generic judge and model, and a row of facts for each vendor.

`vendors` reads the rows of `vendors.toml`: in what a vendor differs (fields, needs, shapes). The `judge/` has a book of
rules and their words. The `server` answers: the `model` plays a scenario, `completion` and `thoughts` write its answer
in the vendor's form, and `errors` writes refusals. `memory` keeps what the vendor remembers between requests, and the
proofs by which it knows its own reasoning. No code asks for a vendor's name.
"""
