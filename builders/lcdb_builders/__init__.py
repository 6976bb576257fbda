"""lcdb_builders."""
