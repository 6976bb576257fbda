"""NNC: nearest neighbours (Cover and Hart 1967).

Exact to the bit: distances are sums of squares in feature order, never fused or expanded; of rows
at equal distance the one drawn first is nearer. A dataset's distances are computed once; then a
cell costs its test rows t (one neighbour, additive), or t and how far their lists of candidates
have to be gone down: N/n steps for each neighbour.

`block` has tables of distances, lists of candidates, and blocks of one neighbour, which need a
confusion matrix alone. `votes` has blocks of any number of neighbours, tuned or not: `voters` names
the classes of a row's neighbours, from a list: of candidates, or, along additive curves, one that
is carried along; `vote_histogram` scores every number of neighbours at once, in whole numbers.
"""
