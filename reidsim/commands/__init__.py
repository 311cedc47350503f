"""The commands of the command line; each imports its modules only when it is called, so that --help is fast."""
