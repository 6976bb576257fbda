"""JSON Schemas: the contract of plans, manifests and cubes, for any language."""
