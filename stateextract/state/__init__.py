"""State files: their heads, and the bodies after them."""
