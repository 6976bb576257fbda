"""Commands of the builder: ``{name: (one line of help, module)}``.

Importing this is cheap; a command's own module is imported when it is run.
"""

COMMANDS: dict[str, tuple[str, str]] = {}
