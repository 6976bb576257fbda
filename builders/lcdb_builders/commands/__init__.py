"""Commands of the builder: ``{name: (one line of help, module, extra)}``.

Importing this is cheap; a command's own module is imported when it is run.
"""

__all__ = ["COMMANDS"]

COMMANDS: dict[str, tuple[str, str, str]] = {
    "bench": ("what cells cost here, beside scikit-learn", "lcdb_builders.commands.bench", "build"),
    "build": (
        "build the cubes of a plan, or go on with it",
        "lcdb_builders.commands.build",
        "build",
    ),
    "compile": ("compile the kernels for this machine", "lcdb_builders.commands.compile", "build"),
    "curve": ("learning curves of a file of your own", "lcdb_builders.commands.curve", "build"),
    "datasets": ("the ten datasets, and which are at hand", "lcdb_builders.commands.datasets", ""),
    "fetch": ("fetch datasets into the user's cache", "lcdb_builders.commands.fetch", ""),
    "index": ("what opens a database from a host", "lcdb_builders.commands.index", ""),
    "plan": ("what a plan means, and what it will take", "lcdb_builders.commands.plan", "build"),
    "pull": ("copy a database from a host", "lcdb_builders.commands.pull", ""),
    "repair": ("free a directory that builds refuse", "lcdb_builders.commands.repair", ""),
    "replay": ("one cell again, beside what is stored", "lcdb_builders.commands.replay", "build"),
    "status": ("curves that are done, failed or missing", "lcdb_builders.commands.status", ""),
    "verify": ("look for damage; compute cells again", "lcdb_builders.commands.verify", ""),
}
