"""One exchange from request to recorded answer. Gateway and library are shells on it."""
