"""NMC, LDC and QDC."""
