"""The full-size genealogy, against a population of Wan et al. 2021.

The figures describe the men of the last three of its ten generations: 90,223 people with known birth year, state,
surname and 16 loci (but not their parents or wealth). It is one draw. Each of its figures must be within the
prediction interval of ours, from 10 replicate runs; at least one figure of a test is outside with probability 1e-3.
"""

import numpy as np
import pytest
import scipy
from genealogy_figures import (
    allele_frequencies,
    haplotype_diversity,
    same_surname_given_same_haplotype,
    surname_spectrum,
)

from reidsim.populations.genealogy.genealogy import simulate

REPLICATES = 10

# By generation: mean and standard deviation of birth years, and men among the 60,000 people
BIRTH_YEARS = [(1922.0463, 9.0964), (1948.8583, 9.1092), (1975.8105, 9.3128)]
MEN = [29_969, 30_117, 30_137]
# By state, from California to Wyoming
STATES = [
    10959, 7338, 5781, 5371, 3719, 3665, 3295, 2732, 2829, 2744, 2566, 2303, 2048, 1943, 1887, 1862, 1837, 1871, 1796,
    1743, 1539, 1576, 1425, 1293, 1307, 1203, 1092, 1086, 1039, 974, 857, 893, 854, 742, 888, 547, 561, 524, 458, 386,
    399, 361, 272, 223, 304, 235, 213, 201, 164, 153, 165,
]  # fmt: skip
# By surname, from SMITH on
FIRST_SURNAMES = [1879, 1105, 1040, 917, 1234, 1189, 761, 565, 604, 657]
BORNE_SURNAMES = 932
SAME_SURNAME = 0.0033844723  # sum of squared shares
# By locus: mean, variance and diversity of alleles
MEANS = [
    13.73578, 13.14461, 11.90837, 28.39688, 22.55771, 9.31427, 11.28784, 11.91719, 13.51267, 9.64285, 10.61321,
    18.45277, 14.28489, 15.72997, 20.83009, 10.6131,
]  # fmt: skip
VARIANCES = [
    1.12477, 6.17883, 0.5188, 1.29839, 1.21496, 0.3611, 1.68284, 0.57567, 0.45808, 0.89359, 0.94782, 1.08159, 0.93281,
    1.96046, 2.02338, 0.56422,
]  # fmt: skip
DIVERSITIES = [
    0.73573, 0.873502, 0.620958, 0.755764, 0.740562, 0.516849, 0.704907, 0.612974, 0.567945, 0.681747, 0.712853,
    0.730753, 0.682981, 0.799139, 0.795987, 0.626909,
]  # fmt: skip
# With 12 and 16 loci
HAPLOTYPE_DIVERSITIES = [0.9997318735, 0.9997604468]
HAPLOTYPES = [7782, 9041]
SAME_SURNAME_GIVEN_12_LOCI = 0.998354


def figures(genealogy):
    g = genealogy
    men = g.living()
    haplotypes, surnames, generations = g.haplotypes[men], g.surname[men], g.generation[men]
    frequencies = allele_frequencies(haplotypes)
    return {
        "birth years": [
            [g.birth_year[men][generations == k].mean(), g.birth_year[men][generations == k].std()] for k in (7, 8, 9)
        ],
        "men": np.bincount(generations)[7:],
        "states": np.bincount(g.state[men], minlength=51) / len(men),
        "surnames": [
            *np.bincount(surnames, minlength=1000)[:10] / len(men),
            len(np.unique(surnames)),
            (surname_spectrum(surnames, 1000) ** 2).sum(),
        ],
        "alleles": [haplotypes.mean(axis=0), haplotypes.var(axis=0), 1 - (frequencies**2).sum(axis=1)],
        "haplotypes": [
            *(haplotype_diversity(haplotypes[:, :m]) for m in (12, 16)),
            *(len(np.unique(np.ascontiguousarray(haplotypes[:, :m]).view(f"V{m}"))) for m in (12, 16)),
        ],
        "same surname given same haplotype": same_surname_given_same_haplotype(haplotypes[:, :12], surnames),
    }


PUBLISHED = {
    "birth years": BIRTH_YEARS,
    "men": MEN,
    "states": np.array(STATES) / sum(STATES),
    "surnames": [*np.array(FIRST_SURNAMES) / sum(MEN), BORNE_SURNAMES, SAME_SURNAME],
    "alleles": [MEANS, VARIANCES, DIVERSITIES],
    "haplotypes": [*HAPLOTYPE_DIVERSITIES, *HAPLOTYPES],
    "same surname given same haplotype": SAME_SURNAME_GIVEN_12_LOCI,
}


def outside(runs, name):
    """Return the largest deviation of a published figure in prediction half widths."""
    ours = np.array([np.ravel(run[name]) for run in runs], dtype=np.float64)
    spread = ours.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(ours))
    half_width = scipy.stats.t.ppf(1 - 0.5e-3 / ours.shape[1], len(ours) - 1) * spread
    return (np.abs(np.ravel(PUBLISHED[name]) - ours.mean(axis=0)) / half_width).max()


@pytest.fixture(scope="module")
def runs(published):
    return [figures(simulate(published, seed)) for seed in range(REPLICATES)]


@pytest.mark.deep
@pytest.mark.parametrize("name", list(PUBLISHED))
def test_the_research_code_could_have_drawn_it(runs, name):
    assert sum(MEN) == sum(STATES) == 90_223
    assert outside(runs, name) < 1
