"""Archives and conversations into the registry, and a person's answers to candidates."""
