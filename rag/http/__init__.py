"""HTTP clients of services: limits on responses, checked addresses and keys, and the wait that a service names."""
