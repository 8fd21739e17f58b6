"""Models on this machine or behind an address: encoder and judges."""
