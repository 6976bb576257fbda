"""Commands of the builder: ``{name: (one line of help, module)}``.

Importing this is cheap; a command's own module is imported when it is run.
"""

__all__ = ["COMMANDS"]

COMMANDS: dict[str, tuple[str, str]] = {
    "datasets": ("the ten datasets, and which are at hand", "lcdb_builders.commands.datasets"),
    "fetch": ("fetch datasets into the user's cache", "lcdb_builders.commands.fetch"),
}
