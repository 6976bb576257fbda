"""From scores of test rows to the metrics of a cell."""
