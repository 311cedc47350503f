"""The commands of the command line.

Each imports its modules only when it is called, so that --help is fast.
"""
