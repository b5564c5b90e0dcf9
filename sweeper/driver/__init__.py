"""The one process that runs sweeps: checks, plans, a queue, and Ray Tune at its end."""
