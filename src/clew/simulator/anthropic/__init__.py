"""Vendors that speak the Messages API: Anthropic, and those that copied it. Each is a row of `vendors.toml`.

`vendors` reads the rows. The `judge/` has the rules and the signatures. The `server` answers: its model plays a
scenario, and `replies` writes answers and errors. `memory` keeps what the vendor remembers between requests.
"""
