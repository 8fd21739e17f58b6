"""The files below the registry's root: roots, settings, safe reads and writes."""
