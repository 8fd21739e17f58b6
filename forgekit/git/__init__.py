"""git: read by `repository`, commits built by `commits`, put in force by `publish`."""
