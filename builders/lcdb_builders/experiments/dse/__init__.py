"""Distributions over hyper-parameters in classification, after Jordan, Cohen and Thomas.

Every trial draws hyper-parameters and data, trains, and keeps the accuracy on the test part: the
distribution shows how good a learner is and how hard it is to tune.
"""

from lcdb_builders.experiments.dse.algorithm import Algorithm, algorithm

__all__ = ["Algorithm", "algorithm"]
