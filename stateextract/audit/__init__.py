"""What is in a snapshot's state, in figures: statistics, rules about them, and their history."""
