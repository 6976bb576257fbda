"""Kernels of the pendulum: the environment and two agents, one call per lifetime or eight."""
