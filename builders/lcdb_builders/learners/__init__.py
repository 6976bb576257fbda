"""Learners: what each declares, and how a block becomes the call of a kernel.

They declare parameters, grid, cost and tolerance. `base` has the interface, `builtin` what the ten
share, `batch` the arrays that kernels take, and there is one module per family; `generic`,
`imported` and `constructing` are classes from elsewhere; `registry` finds all by name.
"""
