"""Python programs that tests start: those that are lcdb commands tell of their options."""

import os
import sys


def _is_command(words):
    return "lcdb.cli" in words or any(os.path.basename(word) == "lcdb" for word in words[:3])


if os.environ.get("LCDB_DOORS") and _is_command(sys.orig_argv):
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from doors.options import tell_of_this_program

    tell_of_this_program()
