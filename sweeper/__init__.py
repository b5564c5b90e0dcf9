"""Hyper-parameter sweeps over continual-learning runs: Ray Tune drives Optuna, MLflow records."""
