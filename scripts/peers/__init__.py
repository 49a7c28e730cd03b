"""The parts of scripts/compare_peers.py and scripts/compare_reference.py."""
