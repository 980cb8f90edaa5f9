"""How the small model is trained and measured; part of the repository, not of the wheel."""
