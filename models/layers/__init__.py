"""Blocks shared by the architectures: norms and feed-forward layers."""
