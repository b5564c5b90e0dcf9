"""YAML to checked value objects; no Ray, no Optuna."""
