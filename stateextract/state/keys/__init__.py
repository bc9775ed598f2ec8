"""From a key to its key group, its bytes and its rows."""
