"""The entities of a registry: frozen values that are valid as soon as they exist.

A model knows nothing of files, YAML or git. Its attributes are spelled as the front-matter keys are.
"""
