"""How the pages become a site with an API reference: `make docs`."""

import lcdb

project = "lcdb++"
author = "The lcdb developers"
copyright = author  # no year: the same sources give the same site
release = version = lcdb.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
html_theme = "furo"
html_title = f"lcdb++ {version}"
html_copy_source = False

# Pages link to headings of one another, as hosts of code resolve them.
myst_heading_anchors = 4

default_role = "py:obj"  # `lcdb.open` in a docstring is a link where there is such a thing
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
