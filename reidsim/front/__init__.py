"""Games in Python: records, people, adversaries and policies as objects, and what is played with them.

`Game` writes down the content of a scenario file, with tables in memory where the file names others; everything else is
what runs scenario files.
"""
