"""The page: sections in their order, and the command that writes it."""

from __future__ import annotations

import lcdb
from findings import apart, estimates, holdings, learners, normality, rankings
from findings.evidence import Evidence
from words import wrapped


def page(db: lcdb.Database, every: lcdb.Database) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    db
        Of the plan ``reference``.
    every
        Of the plan ``turan2026``: where it has every n of a dataset, estimates are checked.
    """
    found = Evidence(db)
    legend = found.tables["table_1"].legend
    text = f"""# What the reference database says

*`make findings` writes this page from `lcdb.reference()`, the summaries that ship: {found.release}.
Every number in it, those of the sentences too, is computed then; tests compute them again.*

Turan, Loog and Tax (2026) test for each dataset, learner and training size whether performance over
1,000 training sets is normally distributed, and find that
{found.printed["text"]["shapiro_wilk_overall"]} % of the distributions are not. Here are their
tables beside the same numbers of this database, and what scaling does, which they did not ask. A
*cell* is a dataset, learner, sampling, split, tuning, size and metric; a *curve* is a cell without
size; a *rate* is the percentage of a curve's cells that Shapiro-Wilk rejects at 5 %, a constant
cell counting as normal, and what is printed for several curves is the mean of their rates (in
brackets their SD).

```
lcdb info reference
lcdb tables reference --table text --table 1 --table 2    # and so on: 3 to 7, A8 to D13
lcdb tables reference --scaling standard --table 1
lcdb build reference --out DIR                            # the database itself, in pieces
lcdb verify DIR --recompute 2000
lcdb summarize DIR --out SMALL --sizes log:48 --bits 14 --release VERSION
```

The paper has every n, and tunes all of its curves: [its tables at every n](every_n.md) are there
for some of these datasets. Rates *at every n* on this page are estimates, and only for some of the
datasets is it known how far they are off.

{holdings.section(found)}

## How far off are estimates at every n?

Each size stands for those around it, so that fewer cells carry the large sizes than the small ones.
{estimates.unknown(Evidence(every), found)}

{normality.section(found)}

{apart.section(found)}

{rankings.section(found)}

{learners.section(found)}

## The columns

{legend} What the public code's own behaviour would make of the same repetitions takes full cubes:
`lcdb tables DIR --view duplicate_seeds,pool`.
"""
    return wrapped(text)
