"""The command line: one module per group of commands, and `output`, the one place that prints."""
