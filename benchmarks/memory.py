"""Memory of a benchmark.

Memory of the largest inputs, measured by hand under ``ulimit -v 12582912`` (12 GiB of addresses), in resident memory:

- a million distinct records with six attributes of ten levels each, a million generalizations: `check` 0.78 GB (0.61 GB
  with ``publisher.unit = "table"``), the first four minutes of a run 1.4 GB of the 1.9 GB said
- 100,000 records among 100 million people in 60,000 cells: a run 0.32 GB
- `populate` with 100 million people of ``united-states-xia2021``: 0.76 GB, 4,799,266 cells
- 100 million subjects of ``wan2021``: refused in a line within 1.3 seconds of CPU, as 518 GB are needed
"""

import resource


def peak_mib() -> float:
    """Largest memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
