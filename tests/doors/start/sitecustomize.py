"""Python programs that tests start: those that are lcdb commands tell of their options."""

import os
import sys


def _is_command(words):
    return "lcdb.cli" in words or any(os.path.basename(word) == "lcdb" for word in words[:3])


if os.environ.get("LCDB_DOORS") and _is_command(sys.orig_argv):
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *3 * [os.pardir])))
    from tests.doors.options import tell_of_this_program

    tell_of_this_program()
