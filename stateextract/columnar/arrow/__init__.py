"""Arrow schemas and values, whatever they were decoded from."""
