"""The page that shows a reproduction: the claims first, then every experiment, in one file."""

from hqmm.report.page import page

__all__ = ["page"]
