"""Machine code: what it is made of, and how it is kept from one process to the next.

`sources` digests the definitions that a kernel reaches, `store` keeps its code on disk under that
digest, `folders` says which folders may be trusted.
"""
