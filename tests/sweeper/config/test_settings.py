"""The blocks `sweep` and `select`: what each key may be."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sweeper.config.settings import SelectSettings, SweepSettings, bind_block
from tests.sweeper.config.files import RUN, SPACE, fault_of

MALFORMED = {
    "misspelt key": (
        RUN + "sweep: {trails: 3}",
        "s.yaml: sweep.trails: there is no key 'trails'; did you mean 'trials'?",
    ),
    "key that is far from all": (
        RUN + "select: {zzz: 3}",
        "s.yaml: select.zzz: there is no key 'zzz'; "
        "there is at_least, class_orders, each, objective, reseed, seeds, top.",
    ),
    "each is a text": (
        SPACE + "a: {grid: [0, 1]}\nselect: {each: a}",
        "s.yaml: select.each: input should be a valid list, but got 'a'.",
    ),
    "misspelt resource": (
        RUN + "sweep: {resources: {gpus: 1}}",
        "s.yaml: sweep.resources.gpus: there is no key 'gpus'; did you mean 'gpu'?",
    ),
    "sweep is a number": (
        RUN + "sweep: 5",
        "s.yaml: sweep: must be a block of keys and values, but got 5.",
    ),
    "bad sampler": (
        RUN + "sweep: {sampler: bayes}",
        "s.yaml: sweep.sampler: input should be 'grid', 'random', 'tpe', 'cmaes', 'nsga2', 'gp' "
        "or 'auto', but got 'bayes'.",
    ),
    "bad scheduler": (
        RUN + "sweep: {scheduler: hyperband}",
        "s.yaml: sweep.scheduler: input should be 'none', 'asha', 'median' or 'bound', "
        "but got 'hyperband'.",
    ),
    "slack in points": (
        RUN + "sweep: {slack: 50}",
        "s.yaml: sweep.slack: input should be less than or equal to 1, but got 50.",
    ),
    "negative trials": (
        RUN + "sweep: {trials: -1}",
        "s.yaml: sweep.trials: input should be greater than or equal to 1, but got -1.",
    ),
    "text for a number": (
        RUN + "sweep: {hours: soon}",
        "s.yaml: sweep.hours: input should be a valid number, unable to parse string as a number, "
        "but got 'soon'.",
    ),
    "half a trial": (
        RUN + "sweep: {trials: 1.5}",
        "s.yaml: sweep.trials: input should be a valid",
    ),
    "negative resources": (
        RUN + "sweep: {resources: {cpu: -1}}",
        "s.yaml: sweep.resources.cpu: input should be greater than or equal to 0, but got -1.",
    ),
    "unknown objective": (
        RUN + "sweep: {objective: loss}",
        "s.yaml: sweep.objective: input should be 'acc' or 'bwt', but got 'loss'.",
    ),
    "first points not in a list": (
        SPACE + "a: {grid: [1, 2]}\nsweep: {first: {a: 1}}",
        "s.yaml: sweep.first: input should be a valid list, but got {'a': 1}.",
    ),
    "misspelt key of notify": (
        RUN + "sweep: {notify: {comand: [tell]}}",
        "s.yaml: sweep.notify.comand: there is no key 'comand'; did you mean 'command'?",
    ),
    "nobody to notify": (
        RUN + "sweep: {notify: {events: [end]}}",
        "s.yaml: sweep.notify: must have a command or a url.",
    ),
    "a command that is no list of words": (
        RUN + "sweep: {notify: {command: tell me}}",
        "s.yaml: sweep.notify.command: input should be a valid list, but got 'tell me'.",
    ),
    "an unknown event": (
        RUN + "sweep: {notify: {command: [tell], events: [start]}}",
        "s.yaml: sweep.notify.events: input should be 'end', 'failure' or 'silence', "
        "but got 'start'.",
    ),
    "an address that is none of the web": (
        RUN + "sweep: {notify: {url: hooks.example.org}}",
        "s.yaml: sweep.notify.url: must begin with http:// or https://.",
    ),
    "an address with a password": (
        RUN + "sweep: {notify: {url: 'https://me:s3cr3t@hooks.example.org'}}",
        "s.yaml: sweep.notify.url: must come without user and password; send a header with "
        "${NAME} instead.",
    ),
    "a header with a secret": (
        RUN + "sweep: {notify: {url: 'https://a', headers: {Authorization: s3cr3t}}}",
        "s.yaml: sweep.notify.headers.Authorization: must come from the environment, such as "
        "${MY_TOKEN}.",
    ),
    "no seeds": (
        RUN + "select: {seeds: 0}",
        "s.yaml: select.seeds: input should be greater than or equal to 1, but got 0.",
    ),
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_wrong_setting_is_told_where_what_must_hold_and_what_it_has(
    tmp_path: Path, text: str, message: str
) -> None:
    told = fault_of(tmp_path, text)
    assert message in told and "s3cr3t" not in told


@pytest.mark.parametrize("raw", [{"trials": 3, "hours": -1}, {"trials": 3, "trails": 4}])
def test_the_rest_of_a_wrong_block_is_kept_so_that_it_is_checked_too(raw: dict[str, Any]) -> None:
    faults: list[str] = []
    assert bind_block(SweepSettings, raw, "sweep", faults) == SweepSettings(trials=3)
    assert len(faults) == 1


@pytest.mark.parametrize("kind", [SweepSettings, SelectSettings])
def test_an_empty_block_and_one_that_is_not_there_have_the_defaults(kind: type[Any]) -> None:
    faults: list[str] = []
    assert bind_block(kind, None, "s", faults) == bind_block(kind, {}, "s", faults) == kind()
    assert faults == []


def test_settings_cannot_be_changed_later() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        SelectSettings().top = 2  # type: ignore[misc]
