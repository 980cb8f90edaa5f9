"""How well the small model reads: page sets, baselines, scores; in the repository, not the wheel."""
