"""Commands that read a database: ``{name: (one line of help, module)}``."""

COMMANDS: dict[str, tuple[str, str]] = {}
