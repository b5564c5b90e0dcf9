"""The paper's Table I: the only place that knows the paper."""
