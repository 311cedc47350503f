"""The commands of the command line; each imports what it needs when it is called, so that --help is quick."""
