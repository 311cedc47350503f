"""Invalid descriptions of knowledge."""

import numpy as np
import pytest

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.errors import InputError

NAMES = ("age", "sex", "race")


def source(*profiles: SourceProfile, of=(0,), name="registry", price=0.0) -> Source:
    return Source(name, profiles, np.array(of, dtype=np.intp), price)


def test_overlapping_groups_are_refused():
    with pytest.raises(InputError, match=r"groups overlap; found 'sex'; expected each attribute in one group"):
        SourceProfile((AttributeGroup(("age", "sex")), AttributeGroup(("sex",))))


def test_more_than_62_attributes_are_refused():
    with pytest.raises(InputError, match="too many attributes; found 63"):
        Knowledge(tuple(map(str, range(63))), (source(SourceProfile(())),))


def test_prices_are_paid_for_the_kinds_of_people_that_there_are():
    profiles = tuple(SourceProfile((), price=price) for price in (10.0, 100.0, 1000.0))
    lists = source(*profiles, of=(0, 2, 2))
    feed = source(SourceProfile(()), of=(0, 0, 0), price=5.0)
    assert lists.total_price == 1010
    assert Knowledge(NAMES, (lists, feed)).total_price == 1015


def test_people_told_about_alike_are_of_one_kind():
    first = source(SourceProfile((), 0.1), SourceProfile((), 0.2), of=(0, 0, 1, 1, 0))
    second = source(SourceProfile((), 0.3), SourceProfile((), 0.4), of=(0, 1, 1, 1, 0))
    knowledge = Knowledge(NAMES, (first, second))
    kinds = [tuple(profile.presence for profile in knowledge.kinds[kind]) for kind in knowledge.kind_of_person]
    assert kinds == [(0.1, 0.3), (0.1, 0.4), (0.2, 0.4), (0.2, 0.4), (0.1, 0.3)]
    assert len(knowledge.kinds) == 3
