"""What git and pre-commit call."""
