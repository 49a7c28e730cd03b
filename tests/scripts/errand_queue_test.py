"""Tests of scripts/errand_queue.py, on times computed by hand."""
import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import errand_queue  # noqa: E402

HEAD = ["--key-tiles", "4", "--head-tiles", "8", "--walk-us", "18", "--errand-us", "1"]


def simulated(*arguments):
    options = errand_queue.parser().parse_args(arguments)
    return errand_queue.simulated(options, options.waves_ahead[0])


def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = errand_queue.main(list(arguments))
    return code, out.getvalue().splitlines()


class ErrandQueueTest(unittest.TestCase):
    def test_one_block_does_one_thing_after_another(self):
        # prepares: 1 to start and 2; the walk: 10; errands of none: 1 to start; converts: 1 to start and 2
        of = simulated("--heads", "1", "--key-tiles", "1", "--head-tiles", "1", "--walk-us", "10", "--errand-us", "2",
                       "--blocks", "1")
        self.assertEqual((of.end, of.wait_prepared, of.wait_visited), (17.0, 0.0, 0.0))

    def test_a_walk_waits_for_what_another_block_prepares(self):
        # Two of three blocks prepare a tile each until 3; the third has a walk, which needs both.
        of = simulated("--heads", "1", "--key-tiles", "2", "--head-tiles", "2", "--walk-us", "10", "--errand-us", "2",
                       "--blocks", "3")
        self.assertEqual(of.wait_prepared, 3.0)
        # Two walks from 3 to 13, their last dQ until 14, and then a tile converted by each of two blocks.
        self.assertEqual(of.end, 16.0)

    def test_each_tile_is_prepared_and_converted_once(self):
        for waves in (0.0, 0.5, 1.0, 2.0, 100.0):
            walks = errand_queue.Queue(16, 4, 8, 5, waves).walks
            prepared = [tile for walk in walks if walk[0] == "errands" for tile in range(*walk[1])]
            converted = [tile for walk in walks if walk[0] == "errands" for tile in range(*walk[2])]
            self.assertEqual(prepared, list(range(128)))
            self.assertEqual(converted, list(range(128)))
            self.assertEqual(sum(walk[0] == "keys" for walk in walks), 64)

    def test_blocks_wait_less_where_tiles_are_prepared_further_ahead(self):
        none, two = (simulated("--heads", "512", *HEAD, "--waves-ahead", waves) for waves in ("0", "2"))
        self.assertGreater(none.wait_prepared, 100 * max(two.wait_prepared, 1.0))
        self.assertGreater(none.end, two.end)

    def test_a_line_is_printed_for_each_number_of_waves(self):
        code, lines = printed("--heads", "512", *HEAD, "--waves-ahead", "1", "2", "3")
        self.assertEqual((code, len(lines)), (0, 4))
        self.assertEqual([line.split()[0] for line in lines[1:]], ["1", "2", "3"])

    def test_bad_numbers_are_named(self):
        for name, value in (("--heads", "0"), ("--blocks", "0"), ("--key-tiles", "-1")):
            with self.subTest(name), contextlib.redirect_stderr(io.StringIO()) as error:
                with self.assertRaises(SystemExit) as raised:
                    errand_queue.main(["--heads", "2", *HEAD, name, value])
                self.assertEqual(raised.exception.code, 2)
                self.assertIn(f"{name}: {value} is not at least 1", error.getvalue())


if __name__ == "__main__":
    unittest.main()
