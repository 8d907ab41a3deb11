"""How a backend's errors are read, whatever its dialect: gateways and relays mix their shapes."""
