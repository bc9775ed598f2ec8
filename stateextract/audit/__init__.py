"""What is in a snapshot's state, in statistics: statistics, rules about them, and their history."""
