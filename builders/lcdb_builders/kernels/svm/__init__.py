"""GSVC: a support vector machine with a Gaussian kernel (Cortes and Vapnik 1995).

At the exact optimum, by sequential minimal optimisation (Platt 1998; Fan, Chen and Lin 2005) and
then Newton steps on the free support vectors. One class against the rest. The dataset's kernel
matrix is computed once; a cell costs between n and n², by how classes overlap.

`gram` has the kernel; `smo` the pair steps and the loop that takes turns with the Newton steps of
`free_vectors`; `working_set` the few rows that move, solved again until no row violates optimality;
`machines` what is kept of each class, and the warm starts of fresh draws; `block` goes through
cells, tuned ones along a path of C.
"""
