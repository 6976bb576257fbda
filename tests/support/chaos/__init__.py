"""Helpers of the tests that kill builders: they import the builder, not pytest."""
