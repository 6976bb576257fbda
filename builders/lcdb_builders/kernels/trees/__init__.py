"""DT, RFOR and ADAB."""
