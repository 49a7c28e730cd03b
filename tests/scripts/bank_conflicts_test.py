"""The matrix kernels' shared memory without bank conflicts, on every architecture that the emulator has."""
import json
import os
import subprocess
import sys
import unittest

PROGRAM = os.environ.get("FMHA_BWD")
FAMILIES = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna", "gfx1201": "rdna",
            "sm_80": "mma", "sm_90a": "mma"}
MAIN_LOOPS = ("dq_dk_dv_kernel", "forward_kernel")


def sites_of(arch, family, hdim):
    """What --emulator-stats tells of the kernels with a loop over tiles."""
    command = [PROGRAM, "--device", "emulator", "--arch", arch, "--kernel", family, "--hdim", str(hdim), "--dtype",
               "bf16", "--batch", "1", "--nhead", "1", "--seqlen-q", "144", "--seqlen-k", "144", "--mask", "top_left",
               "--emulator-stats", "--verify", "none", "--repeat", "1", "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    sites = json.loads(run.stdout)["masks"][0]["emulator_stats"]
    return [site for site in sites if any(name in site["kernel"] for name in MAIN_LOOPS)]


class BankConflicts(unittest.TestCase):
    def test_are_none_in_the_main_loops(self):
        for arch, family in FAMILIES.items():
            for hdim in (64, 128, 256):
                with self.subTest(arch=arch, hdim=hdim):
                    sites = sites_of(arch, family, hdim)
                    self.assertGreaterEqual(len(sites), 4)
                    wrong = [f"{site['line']} {site['kind']} {site['conflicts']}" for site in sites if site["conflicts"]]
                    self.assertEqual(wrong, [])

    def test_are_counted(self):
        # The family simt writes P and dS with them.
        sites = sites_of("gfx942", "simt", 64)
        self.assertGreater(sum(site["conflicts"] for site in sites), 0)


if __name__ == "__main__":
    if not PROGRAM:
        sys.exit(77)
    unittest.main()
