"""Distributions over hyper-parameters: who computes trials, and what they are."""
