"""Models of a learning curve: seventeen formulas, fitted at their least-squares optimum.

================  ==================================================================================
`families`        shapes over n with at most two parameters that are not linear, and where these lie
`projection`      the loss of a shape when its linear parameters are solved for, and its minimum
`models`          the seventeen formulas: which shape each is, and what its parameters a-d mean
`fitting`         many curves of the same sizes at once
`weighting`       several models become one prediction with intervals
================  ==================================================================================

Plain arrays only: `lcdb.analysis.fit` and `lcdb.analysis.forecast` put labels on.
"""
