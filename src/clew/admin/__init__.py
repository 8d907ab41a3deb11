"""The operator's side: a JSON API, live events, metrics and login, on its own listeners."""
