"""Every door is tried: what tests exercise of public functions and commands is recorded.

A door is an argument of a public function, or an option of a command. It is tried when a test
calls the function with another value than the default, gets a result, and asserts something of
it; or when a command that was given the option exits with 0. `make doors` runs the whole suite with
`--doors`, which lists what no test tried, and fails.

    inventory.py   which doors there are
    functions.py   public functions tell of their calls; asserts.py: is the result asserted?
    options.py     parsers tell of their options, in this process and, through start/, in others
    record.py      what was tried, merged from all processes
    plugin.py      when to record and when to judge
"""
