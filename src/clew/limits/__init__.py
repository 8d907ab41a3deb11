"""Who may use how much: limits on money, tokens, requests and parallel requests, the windows that they are counted in, and
what was counted. Pure: every call is told what time it is."""
