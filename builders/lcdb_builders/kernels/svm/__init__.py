"""GSVC."""
