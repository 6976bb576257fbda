"""What every family of kernels stands on: compiling, vectors, random words, sets of rows."""
