"""Summary cubes: a few numbers for each cell where a cube has all of its repetitions."""
