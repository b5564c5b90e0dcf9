"""Pure functions of what is known of trials and reruns."""
