"""LREG and LSVC."""
