"""One page about a database: what it holds, which learners are best, and how sure that is."""

from lcdb.reporting.document import Report
from lcdb.reporting.gather import curves
from lcdb.reporting.normal import rejection_rates
from lcdb.reporting.write import report

__all__ = ["Report", "curves", "rejection_rates", "report"]
