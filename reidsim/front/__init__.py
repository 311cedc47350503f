"""Define games in Python: records, people, adversaries and policies as objects.

`Game` produces the content of a scenario file, with tables in memory in place of files. The game is then solved by the
code that runs scenario files.
"""
