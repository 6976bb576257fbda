"""Commands that read a database: ``{name: (one line of help, module, extra)}``."""

__all__ = ["COMMANDS", "SHIPPED"]

#: Of help: the names that `lcdb.shipped.named` knows.
SHIPPED = "or what ships: crossing, experiments, reference, turan2026, tutorial"

COMMANDS: dict[str, tuple[str, str, str]] = {
    "best": ("which learner is first on each dataset", "lcdb.commands.best", ""),
    "explore": ("a database in a browser, from here", "lcdb.commands.explore", ""),
    "info": ("what a database holds", "lcdb.commands.info", ""),
    "plot": ("a paper's figures from a database", "lcdb.commands.plot", "plot"),
    "profile": ("performance profiles of published results", "lcdb.commands.profile", ""),
    "publish": ("what others want to read beside a database", "lcdb.commands.publish", ""),
    "report": ("a page on what a database says", "lcdb.commands.report", "plot"),
    "site": ("a page that shows a database, for a host", "lcdb.commands.site", ""),
    "summarize": ("small summaries of large cubes", "lcdb.commands.summarize", ""),
    "tables": ("a paper's tables beside ours", "lcdb.commands.tables", ""),
}
