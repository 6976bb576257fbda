"""What ships with the package: expected datasets, plans, the papers printed tables."""
