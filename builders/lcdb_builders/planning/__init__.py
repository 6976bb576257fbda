"""Plan files become units and blocks, with what they will cost."""
