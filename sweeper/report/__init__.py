"""What came out of sweeps: terminal, pages, figures, and the paper's table."""
