"""Which pairs of decisions are judged, and the port of a judge. Pure."""
