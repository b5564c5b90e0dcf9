"""What a sweep knows for certain: an Optuna journal in its folder. The only place of Optuna."""

from sweeper.ledger.entries import key_of, key_of_rerun
from sweeper.ledger.ledger import JOURNAL, Ledger, open_ledger
from sweeper.ledger.reruns import RerunStage
from sweeper.ledger.search import SearchStage
from sweeper.ledger.stage import Asked, Stage

__all__ = [
    "JOURNAL",
    "Asked",
    "Ledger",
    "RerunStage",
    "SearchStage",
    "Stage",
    "key_of",
    "key_of_rerun",
    "open_ledger",
]
