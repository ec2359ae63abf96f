"""Which numbers and texts of a configuration turn something on or off, so that another mechanism runs.

A configuration or a part of one says so in its `switches`: by a field's name, values that stand for what the field can make of it.
Fields with a choice of words, and those that are true or false, need not be named: their type says it.
"""

from collections.abc import Mapping

Switches = Mapping[str, tuple[object, ...]]
