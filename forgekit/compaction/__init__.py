"""What a coding agent's session did, and what a compaction of its context leaves of it. Pure."""
