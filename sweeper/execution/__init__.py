"""The side of the workers: what they are told, what they do, what they save."""
