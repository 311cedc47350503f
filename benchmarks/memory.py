"""Memory of a benchmark."""

import resource


def peak_mib() -> float:
    """Largest memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
