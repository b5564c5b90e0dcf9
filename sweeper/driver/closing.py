"""The end of a sweep: its report, its record in MLflow, and where everything is."""

from dataclasses import dataclass

from mpnet.environment import environment
from sweeper import tracking
from sweeper.driver import tracked
from sweeper.driver.active import ActiveSweep
from sweeper.driver.places import places_of
from sweeper.results.facts import Facts
from sweeper.results.tested import AnyTested
from sweeper.results.texts import counted


@dataclass(frozen=True)
class Closed:
    """What is told of a sweep that is over."""

    facts: Facts
    places: list[str]


def close(active: ActiveSweep) -> Closed:
    """Write the report, close the record in MLflow, note where everything is."""
    from sweeper.report.rendering import render  # seconds, for its plots: not at the start

    assert active.tracking is not None
    tracked.settle(active.tracking, active.ledger, active.say)
    ledger, folder = active.ledger, active.prepared.opened.folder
    facts = ledger.facts()
    tracked.rank(active.tracking, active.sweep, facts.ranked, active.say)
    links = tracking.run_links(active.prepared.uri, active.sweep.name, ledger.sweep_id)
    report = render(facts, {**environment(), "command": active.command}, links)
    report.write(folder)
    tags = {"sweeper.status": "finished"}
    tracking.close_sweep(active.tracking, "FINISHED", _headline(facts), tags, report.files)
    ledger.places = places = places_of(active.prepared, active.tracking)
    active.is_closed = True
    if n_undelivered := tracking.deliver_outbox(active.tracking):
        outbox = active.prepared.opened.outbox
        waiting = counted(n_undelivered, "record")
        text = f"MLflow has yet to get {waiting}, kept in {outbox}: --resume sends them"
        return Closed(facts, [*places, text])
    return Closed(facts, places)


def interrupt(active: ActiveSweep) -> None:
    """Say in MLflow that nobody works on a sweep at present."""
    if active.tracking is not None:
        tracked.settle(active.tracking, active.ledger, active.say)
        tags = {"sweeper.status": "stopped"}
        tracking.close_sweep(active.tracking, "KILLED", {}, tags, {})


def _headline(facts: Facts) -> dict[str, float]:
    """What the parent run says of the best configuration."""
    metrics = {f"val/{k}": v for k, v in facts.best.metrics.items()} if facts.best else {}
    if facts.best_test:
        metrics |= {**_means("test", facts.best_test), "test/seeds": facts.best_test.acc.n}
    if found := facts.best_order_test:
        metrics |= {**_means("test_orders", found), "test_orders/orders": found.acc.n}
    return metrics


def _means(prefix: str, found: AnyTested) -> dict[str, float]:
    metrics = {}
    for name, value in (("acc", found.acc), ("bwt", found.bwt)):
        metrics[f"{prefix}/{name}_mean"] = value.mean
        metrics |= {} if value.deviation is None else {f"{prefix}/{name}_std": value.deviation}
    return metrics
