"""Vendors that speak the Messages API: Anthropic, and those that copied it. Each is a row of `vendors.toml`.

`vendors` reads the rows. The `judge/` has the rules and the signatures. The `server` answers: the `model` plays a scenario,
`stream` puts its answer on the wire, and `errors` writes refusals. `memory` keeps what the vendor remembers between
requests.
"""
