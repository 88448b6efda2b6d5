"""The page that shows a reproduction: the claims first, then every experiment, in one file."""

from hqmm.report.page import page
from hqmm.report.summary import claims_table, rows_table, summary

__all__ = ["claims_table", "page", "rows_table", "summary"]
