"""A page in a browser that shows a database: as a folder for any static host, or from here.

`make` writes the folder and `serve` shows a database at once; both take what the page reads from
`content`. The page itself is in ``page/``: one HTML file, one style sheet, small modules.
"""

from lcdb.site.make import write_site

__all__ = ["write_site"]
