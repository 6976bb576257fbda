"""A database that is read where it lies: an index beside it, and ranges of bytes of its cubes."""
