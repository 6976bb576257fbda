"""LREG and LSVC: logistic regression, and a support vector classifier with squared hinge loss.

At the exact optimum, by Newton's method (Boyd and Vandenberghe 2004, section 9.5; for the hinge
Keerthi and DeCoste 2005), since default tolerances of usual solvers change labels. One class
against the rest. A fit costs some iterations of n d² + d³.

`coordinates` centres, scales or rotates features so that a solver sees units like 1, and says what
the penalty is there; `models` keeps what belongs to a class; `newton` has the steps and their
Hessians, `logistic` and `hinge` the losses; `qr_fallback` fits by reflections where moments have
lost their digits, `steep_hinge` where the penalty is tiny beside the losses; `block` goes through
cells, tuned ones along paths of penalties.
"""
