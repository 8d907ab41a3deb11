"""By rote: exchanges that go as others like them went, with nothing decided anew."""
