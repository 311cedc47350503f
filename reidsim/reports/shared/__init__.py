"""Records written in the forms that a run chose, with a sidecar that says how they came about."""
