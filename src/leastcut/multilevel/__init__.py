"""The search for the smallest cut: exact moves, multilevel passes, and what each effort does."""
