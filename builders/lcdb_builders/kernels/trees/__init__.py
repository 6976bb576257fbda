"""DT, RFOR and ADAB: CART trees, random forests, boosted stumps.

Breiman, Friedman, Olshen and Stone 1984; Breiman 2001; Zhu, Zou, Rosset and Hastie 2009 (SAMME).
Exact to the bit: the reference takes the same decisions. Thresholds are midpoints; equal gains are
told apart by a random stream of the cell and node (`node_streams`). A tree costs n d log n; forests
and boosting that times their trees or stumps.

`codes` turns features into ranks once per dataset; `split` finds the best split of a node,
`small_nodes` all below a node of at most 32 rows, in vector registers; `leaves` says which test
rows reach which leaf; `grow` makes a tree of them, `forest` many. `boost` makes stumps of
`histograms`, with the criterion in `gini`, and `votes` counts what they say; `cells` and `block` go
through cells, tuned or not.
"""
