"""Vendors that speak OpenAI's Responses: one generic judge and model, and a row of facts for each vendor.

`vendors` reads the rows of `vendors.toml`: in what a vendor differs (fields, blobs, reasoning, stream). The `judge/` has a
book of rules and their words. The `server` answers: `prompt` reads the request for the model, which plays a scenario;
`items` writes its answer as output items, `stream` and `response` put them on the wire, and `errors` writes refusals.
`memory` keeps what the vendor remembers between requests, and `blobs` makes and opens encrypted content. No code asks for
a vendor's name.
"""
