"""From wire values to the user's: dates, numbers, names, types that the user requested, and policies."""
