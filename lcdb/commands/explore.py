"""Show a database in a browser, from this machine alone: curves, distributions, comparisons.

Nothing is written. Ctrl-C ends it. 'lcdb site' writes the same page for a host.
"""

from __future__ import annotations

import argparse
import signal
import threading
import webbrowser

from lcdb.commands import SHIPPED

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb explore``."""
    ships = SHIPPED.replace(" experiments,", "")  # which have no curves to show
    what = f"a database directory, a cube or a summary; {ships}"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument(
        "--port", type=int, default=0, help="of the address; any that is free unless given"
    )
    parser.add_argument(
        "--sizes", default="log:100", metavar="SIZES",
        help="training sizes to show: log:100 (even steps of log n), all, or 10,20,50",
    )  # fmt: skip
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve the page until somebody stops it."""
    from lcdb.shipped import named
    from lcdb.site.serve import exploring

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    options = {"port": arguments.port, "sizes": arguments.sizes}
    with exploring(named(arguments.database), **options) as url:
        print(f"{url} (Ctrl-C ends it)", flush=True)
        if not arguments.no_browser:
            webbrowser.open(url)
        try:
            stopped.wait()
        except KeyboardInterrupt:
            print()
