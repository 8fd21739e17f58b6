"""What pre-commit and git call."""
