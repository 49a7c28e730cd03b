"""Tests of scripts/main_loop.py on control flow drawn by hand."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from main_loop import Instruction, main_loop, main_path  # noqa: E402


def code_of(text):
    """A word an instruction, at 0, 1, 2...: m is a matrix instruction, 7 a jump there, 7? one that may fall through,
    and end leaves."""
    code = []
    for address, word in enumerate(text.split()):
        if word[0].isdigit():
            code.append(Instruction(address, target=int(word.rstrip("?")), falls_through=word.endswith("?")))
        else:
            code.append(Instruction(address, is_matrix=word == "m", falls_through=word != "end"))
    return code


class MainLoop(unittest.TestCase):
    def check(self, text, matrix, loop):
        self.assertEqual(main_loop(code_of(text)), (matrix, loop), text)

    def test_code_without_a_loop_or_without_matrix_instructions_has_none(self):
        self.check("", 0, 0)
        self.check("m m end", 0, 0)
        self.check("x x 0? end", 0, 0)
        self.check("m x 1? end", 0, 0)

    def test_a_loop_is_from_its_target_to_its_branch(self):
        self.check("m x m m 2? end", 2, 3)

    def test_one_instruction_may_be_a_loop_of_its_own(self):
        self.check("m 1 end", 0, 0)
        self.check("m 0? end", 1, 2)

    def test_an_inner_loop_with_matrix_instructions_counts_and_the_outer_does_not(self):
        self.check("m m m x m 3? 0? end", 1, 3)

    def test_an_inner_loop_without_matrix_instructions_is_part_of_its_outer(self):
        self.check("m x 1? m 0? end", 2, 5)

    def test_two_ways_back_to_one_head_are_one_loop(self):
        self.check("m 0? m 0? end", 2, 4)

    def test_of_loops_side_by_side_the_one_with_most_counts(self):
        self.check("m x 0? m m x 3? end", 2, 4)
        self.check("m m x 0? m x 4? end", 2, 4)

    def test_what_stands_behind_the_end_and_jumps_back_is_inside(self):
        # 1 jumps to 6, which waits and returns to 2; m at 4 is outside though 6 jumps back over it.
        self.check("x 6? m 1? m end x 6? 2", 1, 6)

    def test_a_loop_that_nothing_enters_is_found(self):
        self.check("x end m 2 end", 1, 2)

    def test_a_branch_out_of_the_code_leaves_it(self):
        self.check("m 99? 0? end", 1, 3)


class MainPath(unittest.TestCase):
    def check(self, text, path):
        """Addresses of the path, where matrix instructions and words that begin with an a matter."""
        words = text.split()
        found = main_path(code_of(text), lambda instruction: words[instruction.address][0] in "ma")
        self.assertEqual([instruction.address for instruction in found], path, text)

    def test_without_a_main_loop_there_is_none(self):
        self.check("m x end", [])

    def test_a_loop_without_branches_is_all_of_it(self):
        self.check("x m x 1? end", [1, 2, 3])

    def test_what_matters_is_passed_and_what_does_not_is_jumped_over(self):
        self.check("m 3? x m 6? a m 0? end", [0, 1, 3, 4, 5, 6, 7])

    def test_of_two_arms_the_one_that_matters_more_is_taken(self):
        self.check("m 4? a 6 a a m 0? end", [0, 1, 4, 5, 6, 7])
        self.check("m 4? x 7 x x x m 0? end", [0, 1, 2, 3, 7, 8])

    def test_an_inner_loop_without_matrix_instructions_is_passed_once(self):
        self.check("m x a 1? m 0? end", [0, 1, 2, 3, 4, 5])


if __name__ == "__main__":
    unittest.main()
