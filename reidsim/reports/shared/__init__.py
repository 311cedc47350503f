"""Release records of a run with a sidecar that documents their origin."""
