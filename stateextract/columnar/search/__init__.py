"""Search for the bytes of a key, and skip entries without decoding them."""
