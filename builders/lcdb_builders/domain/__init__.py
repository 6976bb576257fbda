"""What is computed: datasets, units and blocks, random streams, the rows of a cell."""
