"""Blocks on disk become cubes: nothing is half there, and damage is found and repaired."""
