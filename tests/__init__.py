"""Tests of lcdb: run them with pytest from the folder above."""
