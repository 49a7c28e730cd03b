"""The parts of scripts/compare_peers.py."""
