"""Small random cases, and an oracle that enumerates every outcome."""

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile

NAMES = ("a", "b", "c", "d")
probabilities = st.sampled_from([0.0, 0.1, 0.35, 0.8, 1.0])


@dataclass(frozen=True)
class Case:
    codes: np.ndarray
    knowledge: Knowledge

    @property
    def n(self):
        return len(self.codes)


@st.composite
def profiles(draw):
    order = draw(st.permutations(NAMES))
    ends = sorted(draw(st.sets(st.integers(0, len(NAMES)), max_size=3)))
    groups = [order[start:end] for start, end in itertools.pairwise([0, *ends])]
    made = tuple(AttributeGroup(tuple(group), draw(probabilities)) for group in groups if group)
    return SourceProfile(made, draw(probabilities))


@st.composite
def cases(draw, max_persons=8):
    n = draw(st.integers(1, max_persons))
    codes = np.array([[draw(st.integers(0, 2)) for _ in NAMES] for _ in range(n)], dtype=np.int32)
    sources = []
    for number in range(draw(st.integers(1, 2))):
        told = tuple(draw(profiles()) for _ in range(2))
        of_person = np.array([draw(st.integers(0, 1)) for _ in range(n)], dtype=np.intp)
        sources.append(Source(f"source {number}", told, of_person))
    return Case(codes, Knowledge(NAMES, tuple(sources)))


def known_sets(case, person):
    """Return all sets of known attributes of a person, with their probabilities.

    These are the outcomes of the variables Y.
    """
    outcomes = []
    for source in case.knowledge.sources:
        profile = source.profiles[source.profile_of_person[person]]
        of_source = [(frozenset(), 1 - profile.presence)]
        for told in itertools.product((False, True), repeat=len(profile.groups)):
            p = profile.presence
            names = set()
            for is_told, group in zip(told, profile.groups, strict=True):
                p *= group.probability if is_told else 1 - group.probability
                names |= set(group.attributes) if is_told else set()
            of_source.append((frozenset(names), p))
        outcomes.append(of_source)
    for combination in itertools.product(*outcomes):
        names = frozenset().union(*(known for known, _ in combination))
        yield names, float(np.prod([p for _, p in combination]))


def size_of(codes, person, known):
    columns = [NAMES.index(name) for name in known]
    return sum(all(row[j] == codes[person][j] for j in columns) for row in codes)


def expectation(case, person, of_size):
    """Return the expectation of a function of a person's group size.

    The expectation is over the sets of known attributes.
    """
    return sum(p * of_size(size_of(case.codes, person, known)) for known, p in known_sets(case, person))
