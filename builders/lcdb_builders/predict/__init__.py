"""Computing on demand: learning curves of one's own data, and what stored cells predicted."""
