"""NMC, LDC and QDC: a Gaussian per class.

Hastie, Tibshirani and Friedman 2009, sections 4.3 and 18.2.

Exact but for rounding: covariances are factored from rows by orthogonal transformations, never from
sums of products, so that a tiny ridge stays what it is. A cell costs d³ for its factors (NMC:
K d), and K d² per test row (NMC and LDC: K d); fresh draws also n d² (NMC: n d).

`moments` takes rows in, one by one or a whole draw; `qr` makes triangular factors of them; `model`
fits and scores columns; `block` goes through the cells. Tuned ones score a grid of ridges from one
decomposition (`eigen`) of the rows that are not held out, and refit as `model` does.
"""
