"""How well the small model reads; part of the repository, not of the wheel."""
