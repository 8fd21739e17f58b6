"""Make, check, diagnose, repair, sum up and export a registry."""
