"""Tests of scripts/compare_reference.py: what needs no library; numpy where it is installed."""
import contextlib
import importlib.util
import io
import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from peers import reference_plan as plan  # noqa: E402
from peers import reference_report as report  # noqa: E402
from peers.plan import Failure, Shape  # noqa: E402

spec = importlib.util.spec_from_file_location("compare_reference", SCRIPTS / "compare_reference.py")
compare_reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_reference)

HAS_NUMPY = importlib.util.find_spec("numpy") is not None


def case(mask="no_mask", real=32, threads=1, seqlen_q=10, seqlen_k=10, gemm_size=100):
    shape = Shape(1, 2, 2, seqlen_q, seqlen_k, 8, mask, f"fp{real}", "bhsd")
    return plan.Case(shape, real, threads, gemm_size)


def row(the_case=None, cpus=1.0, clock="wall", **walls):
    """`walls` are seconds of each name, one a round; "slow" and "fast" are GEMMs."""
    names = {"slow": plan.GEMM + "slow", "fast": plan.GEMM + "fast", "numpy": plan.NUMPY, "torch": plan.TORCH}
    samples = {names.get(name, name): plan.Samples(wall, [cpus * second for second in wall])
               for name, wall in walls.items()}
    return plan.Row(the_case or case(), clock, samples)


class Work(unittest.TestCase):
    def test_the_forward_has_4_and_the_backward_10_operations_for_each_pair_and_column(self):
        measured = row(case("top_left"))  # 55 pairs, 2 heads, 8 columns
        self.assertEqual(measured.flops(plan.FORWARD), 4 * 2 * 8 * 55)
        self.assertEqual(measured.flops(plan.BACKWARD), 10 * 2 * 8 * 55)
        self.assertEqual(measured.flops(*plan.OURS), 14 * 2 * 8 * 55)
        self.assertEqual(measured.flops(plan.GEMM + "any"), 2 * 100**3)

    def test_numpy_needs_four_matrices_of_all_pairs(self):
        self.assertEqual(case(seqlen_q=10, seqlen_k=20).numpy_bytes, 4 * 4 * 2 * 10 * 20)
        self.assertEqual(case(real=64).numpy_bytes, 4 * 8 * 2 * 10 * 10)

    def test_cases_are_every_type_mask_and_number_of_threads(self):
        given = compare_reference.arguments_from(["--gemm-sizes", "7,5"])
        found = plan.cases(given, [1, 2])
        self.assertEqual(len(found), 8)
        self.assertEqual({(one.real, one.gemm_size, one.shape.dtype) for one in found},
                         {(32, 7, "fp32"), (64, 5, "fp64")})
        self.assertEqual(found[0].shape, Shape(1, 8, 8, 2048, 2048, 128, "no_mask", "fp32", "bhsd"))


class Ratios(unittest.TestCase):
    def test_the_yardstick_is_the_gemm_with_the_least_median(self):
        measured = row(slow=[1.0, 4.0, 4.0], fast=[2.0, 2.0, 9.0])
        self.assertEqual(measured.best_gemm, plan.GEMM + "fast")
        self.assertAlmostEqual(measured.gflops(measured.best_gemm), 2 * 100**3 / 2.0 / 1e9)
        self.assertIsNone(row().best_gemm)

    def test_the_ratio_to_gemm_is_of_both_passes_round_by_round(self):
        measured = row(forward=[1.0, 2.0], backward=[2.0, 2.0], fast=[1.0, 2.0])
        ours, gemm = 14 * 2 * 8 * 100, 2 * 100**3
        for found, expected in zip(measured.gemm_ratios(), (ours / 3 / gemm, ours / 4 / (gemm / 2))):
            self.assertAlmostEqual(found, expected)
        self.assertEqual(row(forward=[1.0], fast=[1.0]).gemm_ratios(), [])
        self.assertEqual(row(forward=[1.0], backward=[1.0]).gemm_ratios(), [])

    def test_pytorch_is_compared_by_the_backward_and_numpy_by_both_passes(self):
        measured = row(forward=[1.0, 1.0], backward=[1.0, 3.0], torch=[3.0, 3.0], numpy=[4.0, 2.0])
        self.assertEqual(measured.time_ratios(plan.TORCH), [3.0, 1.0])
        self.assertEqual(measured.time_ratios(plan.NUMPY), [2.0, 0.5])
        self.assertEqual(row(backward=[1.0]).time_ratios(plan.TORCH), [])

    def test_the_clock_is_the_one_that_was_asked_for(self):
        self.assertEqual(row(cpus=0.5, clock="cpu", forward=[2.0]).seconds("forward"), [1.0])
        self.assertEqual(row(cpus=0.5, forward=[2.0]).seconds("forward"), [2.0])


class Threads(unittest.TestCase):
    def doubts(self, threads, cpus, **walls):
        return list(row(case(threads=threads), cpus, **walls).doubts())

    def test_as_many_cpus_as_threads_are_no_reason_to_doubt(self):
        self.assertEqual(self.doubts(1, 0.99, fast=[1.0], forward=[1.0], numpy=[1.0]), [])
        self.assertEqual(self.doubts(2, 1.95, fast=[1.0]), [])

    def test_more_cpus_than_threads_are_named(self):
        for threads, cpus in ((1, 1.9), (2, 2.3)):
            doubts = self.doubts(threads, cpus, fast=[1.0])
            self.assertEqual(len(doubts), 1)
            self.assertIn("number of threads does not hold", doubts[0])
            self.assertIn("GEMM: fast", doubts[0])

    def test_fewer_are_named_but_for_numpy(self):
        doubts = self.doubts(2, 1.0, fast=[1.0], numpy=[1.0])
        self.assertEqual(len(doubts), 1)
        self.assertIn("other programs ran (CPUs in use: GEMM: fast 1.00)", doubts[0])


class Reports(unittest.TestCase):
    def test_a_line_has_a_cell_for_each_column_and_na_for_what_is_missing(self):
        cells = report.row_line(row(forward=[1e-6], backward=[1e-6], fast=[1e-3], torch=[2e-6]))
        cells = cells.strip("| ").split(" | ")
        self.assertEqual(len(cells), len(report.COLUMNS))
        # 6400 and 16000 operations in 1 us each, 2e6 in 1 ms.
        self.assertEqual(cells, ["fp32", "no_mask", "1", "6.4", "16.0", "11.2", "2.0", "fast",
                                 "560.0% (560.0%..560.0%)", "2.00 (2.00..2.00)", "n/a"])
        cells = report.row_line(row()).strip("| ").split(" | ")
        self.assertEqual(cells[3:], ["n/a"] * 8)

    def test_the_summary_names_the_worst_case(self):
        text = report.summary([row(backward=[1.0], torch=[2.0]), row(),
                               row(case("top_left", 64, 2), backward=[2.0], torch=[1.0])])
        self.assertIn("Against PyTorch: at least 0.50 (at fp64 top_left 2 threads)", text)
        self.assertIn("Against the best GEMM: n/a", text)

    def test_the_file_has_every_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sub", "out.json")
            report.write_file(path, {"cpu": "a CPU"},
                              [row(forward=[1.0, 2.0], backward=[1.0, 1.0], fast=[1.0, 1.0])])
            written = json.loads(path.read_text())
        self.assertEqual(written["context"], {"cpu": "a CPU"})
        found = written["rows"][0]
        self.assertEqual(found["samples"]["forward"], {"wall": [1.0, 2.0], "cpu": [1.0, 2.0]})
        self.assertEqual(found["best_gemm"], "GEMM: fast")
        self.assertEqual(set(found["ratio"]), {"gemm"})


class CommandLine(unittest.TestCase):
    def test_bad_values_exit_with_2_and_name_the_option(self):
        for options in (["--real", "16"], ["--masks", "causal"], ["--threads", "0"], ["--threads", "some"],
                        ["--seqlen", "1x2x3"], ["--hdim", "0"], ["--gemm-sizes", "8"], ["--rounds", "0"],
                        ["--target-ms", "nan"], ["--clock", "cpu"]):
            complaint = io.StringIO()
            with contextlib.redirect_stderr(complaint), self.assertRaises(SystemExit) as caught:
                compare_reference.arguments_from(options)
            self.assertEqual(caught.exception.code, 2)
            self.assertIn(options[0], complaint.getvalue())

    def test_all_threads_are_those_of_the_process(self):
        self.assertEqual(compare_reference.arguments_from(["--threads", "3,all"]).threads, [3, None])


class Course(unittest.TestCase):
    """The course of a comparison, with calls that do nothing."""

    def compare(self, ours, cases=None):
        def call():
            pass

        contestants = SimpleNamespace(
            inputs=lambda shape: None, scale_of=lambda shape: 1.0, ours=ours,
            gemms=lambda the_row, peers: [(plan.GEMM + "one", lambda count: None, call)],
            attentions=lambda the_row, peers, tensors, expected: [])
        attention = SimpleNamespace(truth=lambda *arguments: None, visible_of=lambda shape: None)
        modules = {"peers.reference_contestants": contestants, "peers.numpy_attention": attention}
        out, err = io.StringIO(), io.StringIO()
        import peers
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err), \
                mock.patch.object(peers, "reference_contestants", contestants, create=True), \
                mock.patch.object(peers, "numpy_attention", attention, create=True):
            given = compare_reference.arguments_from(["--rounds", "2", "--target-ms", "0.01"])
            code = compare_reference.compare(given, cases or [case()], None, None, {})
        return code, out.getvalue(), err.getvalue()

    def test_what_is_right_is_timed(self):
        calls = [(name, lambda count: None, lambda: None) for name in plan.OURS]
        code, out, _ = self.compare(lambda *arguments: calls)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\| fp32 \| no_mask \| 1 \| [\d.]+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \| one \|")

    def test_what_is_wrong_or_refused_is_not_timed(self):
        for failure, code in ((1, 1), (3, 3)):
            def ours(*arguments, failure=failure):
                raise Failure(failure, "the reason")
            found, out, err = self.compare(ours)
            self.assertEqual(found, code)
            self.assertIn("| n/a | n/a | n/a | n/a | n/a | n/a | n/a | n/a |", out)
            self.assertIn("fp32 no_mask 1 thread: fmha_bwd: the reason", err)

    def test_other_failures_end_the_comparison(self):
        def ours(*arguments):
            raise Failure(6, "out of memory")
        with self.assertRaises(Failure):
            self.compare(ours)


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
class Numpy(unittest.TestCase):
    def setUp(self):
        import numpy
        from peers import blas, numpy_attention
        self.np, self.blas, self.attention = numpy, blas, numpy_attention

    def test_a_query_that_sees_one_key_takes_its_value(self):
        np = self.np
        shape = Shape(1, 1, 1, 3, 2, 1, "bottom_right", "fp64", "bhsd")  # query i sees keys j <= i - 1
        visible = self.attention.visible_of(shape)
        self.assertEqual(visible.tolist(), [[0, 0], [1, 0], [1, 1]])
        q, k, v, d_o = (np.array(values, np.float64).reshape(1, 1, -1, 1)
                        for values in ([5, 6, 0], [1, 2], [3, 7], [1, 2, 4]))
        o, dq, dk, dv = self.attention.attention((q, k, v, d_o), 1.0, visible)
        # The last query has a score of 0 for both keys: P = 1/2, dS = P (dO V - D) = (-4, 4).
        self.assertEqual(o.ravel().tolist(), [0, 3, 5])
        self.assertEqual(dq.ravel().tolist(), [0, 0, 4])
        self.assertEqual(dk.ravel().tolist(), [0, 0])
        self.assertEqual(dv.ravel().tolist(), [4, 2])

    def test_gradients_are_those_of_differences(self):
        np, generator = self.np, self.np.random.default_rng(1)
        for mask in ("no_mask", "top_left", "bottom_right"):
            shape = Shape(1, 2, 2, 4, 5, 3, mask, "fp64", "bhsd")
            visible = self.attention.visible_of(shape)
            tensors = [generator.standard_normal((1, 2, rows, 3)) for rows in (4, 5, 5, 4)]
            gradients = self.attention.attention(tensors, 0.7, visible)[1:]
            for tensor, gradient in zip(tensors, gradients):
                step = np.zeros_like(tensor)
                step[0, 1, 2, 1] = 1e-5

                def loss(sign):
                    moved = [other + sign * step if other is tensor else other for other in tensors[:3]]
                    return (self.attention.forward(*moved, 0.7, visible)[0] * tensors[3]).sum()

                self.assertAlmostEqual((loss(1) - loss(-1)) / 2e-5, gradient[0, 1, 2, 1], places=8)

    def test_fp32_stays_fp32_and_is_near_the_truth(self):
        np, generator = self.np, self.np.random.default_rng(2)
        shape = Shape(2, 1, 1, 6, 9, 4, "top_left", "fp32", "bhsd")
        visible = self.attention.visible_of(shape)
        tensors = [generator.standard_normal((2, 1, rows, 4), np.float32) for rows in (6, 9, 9, 6)]
        found = self.attention.attention(tensors, 0.5, visible)
        self.assertEqual({part.dtype for part in found}, {np.dtype(np.float32)})
        expected = self.attention.truth(tensors, 0.5, visible)
        self.assertEqual({part.dtype for part in expected}, {np.dtype(np.float64)})
        self.assertLess(self.attention.distance(found, expected), 1e-6)

    def test_a_distance_of_nan_or_from_zero_is_no_agreement(self):
        np = self.np
        zero, one, nan = np.zeros(2), np.ones(2), np.full(2, np.nan)
        self.assertEqual(self.attention.distance([zero, one], [zero, one]), 0.0)
        self.assertTrue(math.isnan(self.attention.distance([nan, one], [one, one])))
        self.assertEqual(self.attention.distance([one], [zero]), math.inf)
        self.assertEqual(self.attention.distance([one, 3 * one], [one, 2 * one]), 0.5)

    def test_a_wrong_element_of_a_product_is_found(self):
        a, b, c = self.blas.operands(64, 50)
        self.assertTrue(math.isnan(self.blas.product_error(a, b, c)))
        self.np.matmul(a, b, out=c)
        self.assertLess(self.blas.product_error(a, b, c), 1e-14)
        c[17, 23] += 1
        self.assertGreater(self.blas.product_error(a, b, c), 1e-3)

    def attentions(self, answers, free=2**30):
        """(the names of those that are timed, why the others are not), with PyTorch's gradients times
        `answers`."""
        from peers import reference_contestants as contestants
        measured = row(case("top_left"))
        shape = measured.case.shape
        tensors = contestants.inputs(shape)
        expected = self.attention.truth(tensors, contestants.scale_of(shape),
                                        self.attention.visible_of(shape))
        torch = SimpleNamespace(set_threads=lambda count: None, attention_backward=lambda *arguments: (
            lambda: [answers * gradient for gradient in expected[1:]]))
        peers = SimpleNamespace(torch=torch, set_numpy_threads=lambda count: None)
        with mock.patch.object(contestants, "free_bytes", lambda: free):
            found = contestants.attentions(measured, peers, tensors, expected)
        return [name for name, *_ in found], measured.missing

    def test_attention_that_is_right_is_timed_and_that_is_wrong_is_not(self):
        self.assertEqual(self.attentions(1.0), ([plan.NUMPY, plan.TORCH], {}))
        names, missing = self.attentions(1.001)
        self.assertEqual(names, [plan.NUMPY])
        self.assertIn("differ from fp64's by 1.000e-03", missing[plan.TORCH])

    def test_numpy_is_left_out_where_its_matrices_take_more_than_half_of_the_memory(self):
        needed = 4 * 4 * 2 * 10 * 10
        self.assertEqual(self.attentions(1.0, free=2 * needed), ([plan.NUMPY, plan.TORCH], {}))
        names, missing = self.attentions(1.0, free=2 * needed - 1)
        self.assertEqual(names, [plan.TORCH])
        self.assertIn("more than half", missing[plan.NUMPY])

    def test_what_is_no_library_is_bad_usage(self):
        from peers.reference_library import ReferenceLibrary
        for open_library, option in ((ReferenceLibrary, "--library"), (self.blas.Blas, "--blas")):
            with self.assertRaises(Failure) as caught:
                open_library("/nonexistent.so")
            self.assertEqual(caught.exception.code, 2)
            self.assertIn(option, str(caught.exception))

    @unittest.skipUnless("FMHA_BWD_REFERENCE_LIBRARY" in os.environ,
                         "FMHA_BWD_REFERENCE_LIBRARY names no libfmha_bwd_reference.so")
    def test_the_library_agrees_with_numpy(self):
        from peers import reference_contestants as contestants
        from peers.reference_library import ReferenceLibrary
        library = ReferenceLibrary(os.environ["FMHA_BWD_REFERENCE_LIBRARY"])
        self.assertTrue(library.simd)
        for mask in ("no_mask", "top_left", "bottom_right"):
            for real in (32, 64):
                the_case = case(mask, real, 2, seqlen_q=70, seqlen_k=33)
                tensors = contestants.inputs(the_case.shape)
                expected = self.attention.truth(tensors, contestants.scale_of(the_case.shape),
                                                self.attention.visible_of(the_case.shape))
                self.assertEqual(len(contestants.ours(the_case, library, tensors, expected)), 2)
                expected[3][0, 1, 2, 3] += 1
                with self.assertRaises(Failure) as caught:
                    contestants.ours(the_case, library, tensors, expected)
                self.assertEqual(caught.exception.code, 1)


if __name__ == "__main__":
    unittest.main()
