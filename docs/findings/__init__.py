"""Make docs/findings.md, its figures and docs/every_n.md of what ships: `make findings`.

Every number of the page, those in its sentences too, is computed when the page is written, from
whatever datasets there are; tests hold the page against what is computed anew.

- `evidence.py` what is read of the database, once
- `holdings.py` `normality.py` `apart.py` `rankings.py` `learners.py` the sections: text and tables
- `estimates.py` how far rates at every n are off where they are estimated
- `figures.py` what is drawn
- `page.py` the page
- `every_n.py` the other page: the paper's tables where every n is there
"""
