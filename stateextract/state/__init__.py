"""State files: their heads, and the bodies behind them."""
