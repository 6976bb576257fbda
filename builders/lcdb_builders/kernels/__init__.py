"""Compiled kernels: arrays in, arrays out. Nothing here knows of HDF5, xarray or plans."""
