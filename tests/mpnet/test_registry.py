"""Names and the hints given for wrong ones."""

import pytest

from mpnet.errors import ConfigError
from mpnet.registry import Registry, did_you_mean


@pytest.fixture
def fruits() -> Registry:
    """A registry with two members."""
    registry = Registry("fruit")
    registry.register("pear")(dict)
    registry.register("apple")(list)
    return registry


def test_a_registered_member_is_found_by_its_name(fruits: Registry) -> None:
    assert fruits["apple"] is list


def test_registering_returns_the_member_itself(fruits: Registry) -> None:
    assert fruits.register("plum")(set) is set


def test_names_come_in_alphabetical_order(fruits: Registry) -> None:
    assert list(fruits) == ["apple", "pear"]


@pytest.mark.parametrize(("name", "is_known"), [("apple", True), ("aple", False)])
def test_membership_is_by_exact_name(fruits: Registry, name: str, is_known: bool) -> None:
    assert (name in fruits) is is_known


def test_a_misspelt_name_is_answered_with_the_nearest(fruits: Registry) -> None:
    with pytest.raises(ConfigError, match=r"^no fruit 'aple'; did you mean 'apple'\?$"):
        fruits["aple"]


def test_an_unknown_name_is_answered_with_all_names(fruits: Registry) -> None:
    with pytest.raises(ConfigError, match=r"^no fruit 'xyz'; there is apple, pear\.$"):
        fruits["xyz"]


def test_a_name_cannot_be_registered_twice(fruits: Registry) -> None:
    with pytest.raises(ConfigError, match="builtins.set takes that of builtins.dict"):
        fruits.register("pear")(set)


def test_a_name_is_unknown_to_an_empty_registry_with_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="no fruit 'apple'"):
        Registry("fruit")["apple"]


def test_a_hint_takes_any_collection_of_words() -> None:
    assert did_you_mean("alpha_mx", iter(["tau", "alpha_max"])) == "did you mean 'alpha_max'?"
