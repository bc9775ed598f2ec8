"""The ``_metadata`` file: operators, subtasks and the handles of their state."""
