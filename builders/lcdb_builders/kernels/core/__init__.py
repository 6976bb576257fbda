"""What every family of kernels stands on.

`jit` compiles, as `dispatcher` has it; `lanes` and `simd` are vectors in registers, `elementary`
logarithms and exponentials that are the same on every machine, `rng` keyed random words; `sets`
draws rows and groups columns, `holdout` parts rows to tune and records what was chosen, `cell`
names and writes the numbers of a cell.
"""
