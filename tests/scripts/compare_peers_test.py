"""Tests of scripts/compare_peers.py: what needs neither PyTorch nor a GPU."""
import contextlib
import csv
import ctypes
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
from peers import feature_report, features, library, measure, plan, report  # noqa: E402

spec = importlib.util.spec_from_file_location("compare_peers", SCRIPTS / "compare_peers.py")
compare_peers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_peers)


def shape(mask="no_mask", seqlen_q=128, seqlen_k=192, **others):
    members = {"batch": 2, "nhead_q": 16, "nhead_k": 16, "hdim": 128, "dtype": "bf16", "layout": "bshd"}
    members |= others
    return plan.Shape(mask=mask, seqlen_q=seqlen_q, seqlen_k=seqlen_k, **members)


def row(ours, cudnn, **members):
    """With one sample a round of ours and of cuDNN; FA2 is missing."""
    return plan.Row(shape(**members), "simt", {"fmha_bwd": ours, "cuDNN": cudnn}, {"fmha_bwd": 5, "cuDNN": 4},
                    {"FA2": "not there"})


class Work(unittest.TestCase):
    def test_visible_pairs_are_those_of_the_definition(self):
        sees = {"no_mask": lambda i, j, q, k: True, "top_left": lambda i, j, q, k: j <= i,
                "bottom_right": lambda i, j, q, k: j <= i + k - q}
        for mask, visible in sees.items():
            for q, k in ((5, 5), (3, 7), (7, 3), (1, 1)):
                pairs = sum(visible(i, j, q, k) for i in range(q) for j in range(k))
                self.assertEqual(shape(mask, q, k).pairs, pairs, (mask, q, k))

    def test_bottom_right_of_128_queries_and_192_keys_has_16448_pairs(self):
        self.assertEqual(shape("bottom_right").pairs, 16448)

    def test_causal_flops_are_not_half_of_the_full(self):
        self.assertEqual(shape("top_left", 512, 512).flops, 10 * 2 * 16 * 128 * 512 * 513 // 2)

    def test_tokens_and_hidden_size_are_constant(self):
        for found in plan.shapes(["bf16"], [64, 128], ["no_mask"], [(512, 512), (16384, 16384)]):
            self.assertEqual(found.batch * found.seqlen_q, 16384)
            self.assertEqual(found.nhead_q * found.hdim, 2048)

    def test_a_sequence_longer_than_all_tokens_is_a_batch_of_one(self):
        self.assertEqual(plan.shapes(["bf16"], [64], ["no_mask"], [(300, 32768)])[0].batch, 1)

    def test_key_heads_divide_the_query_heads(self):
        self.assertEqual(plan.shapes(["bf16"], [64], ["no_mask"], [(512, 512)], 4)[0].nhead_k, 4)
        with self.assertRaises(plan.Failure) as caught:
            plan.shapes(["bf16"], [64], ["no_mask"], [(512, 512)], 3)
        self.assertEqual(caught.exception.code, 2)


def feature_shape(hdim=128, seqlen=16, mask="top_left", **members):
    members = {"feature": "window"} | members
    return features.FeatureShape(2, 16, 16, seqlen, seqlen, hdim, mask, "bf16", "bshd", **members)


def counted(seqlen, visible):
    return sum(visible(i, j) for i in range(seqlen) for j in range(seqlen))


class Features(unittest.TestCase):
    def test_visible_pairs_are_those_of_the_definition(self):
        starts = (0, 3, 10)
        for members, visible in (
                ({}, lambda i, j: j <= i),
                ({"mask": "no_mask"}, lambda i, j: True),
                ({"window": (3, 0)}, lambda i, j: i - 3 <= j <= i),
                ({"window": (2, 5)}, lambda i, j: i - 2 <= j <= i + 5),
                ({"documents": (3, 7, 6)}, lambda i, j: j <= i and not any(j < s <= i for s in starts)),
                ({"mask": "no_mask", "documents": (3, 7, 6)},
                 lambda i, j: not any(min(i, j) < s <= max(i, j) for s in starts))):
            self.assertEqual(feature_shape(**members).pairs, counted(16, visible), members)

    def test_the_pairs_of_group_mode_are_those_of_all_sequences_counted_once(self):
        grouped = feature_shape(sequences=(4, 1, 3))
        self.assertEqual(grouped.pairs, 10 + 1 + 6)
        self.assertEqual(grouped.flops, 16 * 17 * 10 * 128)
        self.assertEqual(grouped.rows, (1, 8, 8))

    def test_three_products_have_the_width_of_q_and_two_that_of_v(self):
        self.assertEqual(feature_shape(192, columns_v=128).flops, 2 * 16 * 136 * (6 * 192 + 4 * 128))

    def test_a_shape_sets_the_members_of_its_features_alone(self):
        self.assertEqual(feature_shape().members, {})
        self.assertEqual(feature_shape(softcap=30.0, sink=True).members, {"softcap": 30.0, "sink": True})
        self.assertEqual(feature_shape(window=(7, 0)).members,
                         {"mask": library.WINDOW_TOP_LEFT, "window_left": 7, "window_right": 0})
        problem = library.problem_of(feature_shape(documents=(3, 7, 6), deterministic=True))
        self.assertEqual((problem.documents, problem.document_ends[:2]), (2, [3, 10]))
        self.assertEqual(problem.deterministic, 1)
        problem = library.problem_of(feature_shape(sequences=(4, 1, 3)))
        self.assertEqual((problem.seqlens_q[:3], problem.seqlens_k[:3]), ([4, 1, 3], [4, 1, 3]))

    def test_every_shape_has_all_tokens_and_a_feature_that_a_peer_has(self):
        found = features.shapes(["all"])
        self.assertEqual({shape.feature for shape in found}, set(features.FEATURES))
        for shape in found:
            batch, rows, _ = shape.rows
            self.assertEqual(batch * rows, plan.TOKENS, shape)
            self.assertTrue(features.FEATURES[shape.feature].peers)
            self.assertTrue(not shape.documents or sum(shape.documents) == shape.seqlen_q)

    def test_the_fastest_peer_is_none_of_ours(self):
        samples = {"fmha_bwd": [2.0], "FA2": [3.0], "Flex": [1.0], features.ATOMIC: [0.5]}
        measured = features.FeatureRow(feature_shape(), "mma", samples)
        self.assertEqual(measured.fastest, "Flex")
        cells = feature_report.timing_line(measured).strip("| ").split(" | ")
        self.assertEqual(len(cells), len(feature_report.TIMING_COLUMNS))
        self.assertEqual(cells[8], "Flex")
        self.assertIn("0.500", cells[10])
        self.assertIn("FA2 ", cells[11])
        self.assertEqual(measured.record()["ratio"], {"FA2": 1.5, "Flex": 0.5, features.ATOMIC: 0.25})
        text = feature_report.summary([measured, features.FeatureRow(feature_shape())])
        self.assertIn("against the fastest peer: geometric mean 0.500 of 1 shapes", text)
        self.assertIn("window, cuDNN: n/a: ", text)

    def test_a_row_without_peers_is_na(self):
        cells = feature_report.timing_line(features.FeatureRow(feature_shape())).split("|")
        self.assertEqual([cell.strip() for cell in cells[7:-2]], ["n/a"] * 5)


class Agreement(unittest.TestCase):
    def agreeing(self, ours, **peers):
        errors = SimpleNamespace(distance=lambda actual, expected: abs(actual - expected) / abs(expected))
        found = plan.Row(shape())
        calls = {name: lambda value=value: value for name, value in peers.items()}
        with mock.patch.dict(sys.modules, {"peers.errors": errors}):
            return list(measure.agreeing(found, lambda: ours, calls)), found.missing

    def test_a_peer_alone_with_its_gradients_is_left_out(self):
        names, missing = self.agreeing(1.0, cuDNN=2.0, FA2=1.0, Flex=1.01)
        self.assertEqual(names, ["FA2", "Flex"])
        self.assertIn("differ from ours", missing["cuDNN"])

    def test_ours_alone_with_their_gradients_are_wrong(self):
        with self.assertRaises(plan.Failure) as caught:
            self.agreeing(2.0, cuDNN=1.0, FA2=math.nan)
        self.assertEqual(caught.exception.code, 1)


class Rounds(unittest.TestCase):
    def test_every_round_has_each_once_and_begins_with_another(self):
        self.assertEqual(plan.rotated(["a", "b", "c"], 4), [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"],
                                                            ["a", "b", "c"]])

    def test_a_sample_has_at_least_three_calls(self):
        self.assertEqual(plan.calls_for(40, 0.05), 800)
        self.assertEqual(plan.calls_for(40, 30), 3)
        self.assertEqual(plan.calls_for(40, 0), 40000)


class Results(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_ratios_of_rounds(self):
        measured = row([1.0, 2.0, 4.0], [2.0, 2.0, 5.0])
        self.assertEqual(measured.ratios("cuDNN"), [2.0, 1.0, 1.25])
        self.assertEqual(measured.ratio("cuDNN"), 1.25)  # the ratio of the medians would be 1
        self.assertIsNone(measured.ratio("FA2"))

    def test_tflops_are_of_the_median_time(self):
        measured = row([2.0, 1.0, 4.0], [])
        self.assertAlmostEqual(measured.tflops("fmha_bwd"), measured.shape.flops / 2e-3 / 1e12)
        self.assertIsNone(measured.tflops("cuDNN"))

    def test_geometric_mean(self):
        self.assertAlmostEqual(plan.geometric_mean([0.5, 2.0, 8.0]), 2.0)

    def test_worse_is_larger_by_more_than_5_percent_or_not_a_number(self):
        self.assertFalse(plan.is_worse(1.05e-3, 1e-3))
        self.assertTrue(plan.is_worse(1.06e-3, 1e-3))
        self.assertTrue(plan.is_worse(math.nan, 1e-3))
        for none in (None, math.nan, math.inf):
            self.assertFalse(plan.is_worse(1e-3, none))
            self.assertTrue(plan.is_worse(1.0, none))
            self.assertTrue(plan.is_worse(math.nan, none))


class Reports(unittest.TestCase):
    def test_a_line_has_a_cell_for_each_column_and_na_for_what_is_missing(self):
        cells = report.timing_line(row([1.0], [2.0])).strip("| ").split(" | ")
        self.assertEqual(len(cells), len(report.TIMING_COLUMNS))
        self.assertEqual(cells[:6], ["128", "no_mask", "128x192", "2", "16", "simt"])
        self.assertEqual(cells[-2:], ["2.000 (2.000..2.000)", "n/a"])
        cells = report.accuracy_line(shape(), "dQ", {"fmha_bwd": 1e-3}, False).strip("| ").split(" | ")
        self.assertEqual(len(cells), len(report.ACCURACY_COLUMNS))
        self.assertEqual(cells[-4:], ["1.000e-03", "n/a", "n/a", "ok"])

    def test_the_summary_names_the_worst_shape(self):
        text = report.summary([row([1.0], [0.5]), row([1.0], [2.0], mask="top_left"), plan.Row(shape())])
        self.assertIn("Against cuDNN: geometric mean 1.000 of 2 shapes; worst 0.500 at bf16 D=128 no_mask",
                      text)
        self.assertIn("Against FA2: n/a", text)

    def test_the_rate_of_a_product_is_what_our_fastest_row_is_held_against(self):
        slow, fast = row([2.0], [2.0], mask="top_left"), row([1.0], [2.0])
        text = report.product_line(2 * fast.tflops(plan.OURS), [slow, fast, plan.Row(shape())])
        self.assertIn("our fastest row reaches 50.0% of it (bf16 D=128 no_mask", text)
        self.assertEqual(report.product_line(786.04, [plan.Row(shape())]),
                         "A bf16 product of 8192 x 8192 matrices in this run: 786.0 TFLOP/s")

    def test_files_have_every_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder, "times")
            report.write_files(base, {"device": "a GPU"}, [row([1.0, 2.0], [3.0, 4.0])])
            written = json.loads(base.with_suffix(".json").read_text())
            lines = list(csv.DictReader(base.with_suffix(".csv").read_text().splitlines()))
        self.assertEqual(written["context"], {"device": "a GPU"})
        self.assertEqual(written["rows"][0]["samples"], {"fmha_bwd": [1.0, 2.0], "cuDNN": [3.0, 4.0]})
        self.assertEqual(written["rows"][0]["missing"], {"FA2": "not there"})
        self.assertEqual([(line["name"], line["round"], line["calls"], line["ms"]) for line in lines],
                         [("fmha_bwd", "0", "5", "1.000000"), ("fmha_bwd", "1", "5", "2.000000"),
                          ("cuDNN", "0", "4", "3.000000"), ("cuDNN", "1", "4", "4.000000")])


class CommandLine(unittest.TestCase):
    def test_the_defaults_are_24_shapes_in_bf16(self):
        shapes = compare_peers.shapes_of(compare_peers.arguments_from([]))
        self.assertEqual(len(shapes), 24)
        self.assertEqual({(found.dtype, found.layout) for found in shapes}, {("bf16", "bshd")})

    def test_accuracy_has_both_types_every_mask_and_a_batch_of_two(self):
        shapes = compare_peers.shapes_of(compare_peers.arguments_from(["--accuracy"]))
        self.assertEqual({found.dtype for found in shapes}, {"fp16", "bf16"})
        self.assertEqual({found.mask for found in shapes}, set(plan.MASKS))
        self.assertEqual({found.batch for found in shapes}, {2})
        self.assertIn((300, 700), {(found.seqlen_q, found.seqlen_k) for found in shapes})

    def test_features_have_shapes_rounds_and_samples_of_their_own(self):
        given = compare_peers.arguments_from(["--features", "sink,alibi"])
        rows = compare_peers.rows_of_features(given)
        self.assertEqual({row.shape.feature for row in rows}, {"sink", "alibi"})
        self.assertEqual((given.rounds, given.target_ms), (5, 10.0))
        self.assertEqual(len(compare_peers.rows_of_features(compare_peers.arguments_from(
            ["--features", "sink,alibi", "--quick"]))), 2 * features.QUICK)
        for others in (["--hdims", "64"], ["--accuracy"], ["--seqlens", "512"]):
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as caught:
                compare_peers.arguments_from(["--features", "all", *others])
            self.assertEqual(caught.exception.code, 2)

    def test_bad_values_exit_with_2_and_name_the_option(self):
        for option, value in (("--seqlens", "3x"), ("--seqlens", "1x2x3"), ("--hdims", "0"),
                              ("--masks", "causal"), ("--rounds", "0"), ("--target-ms", "nan"),
                              ("--dtype", "fp8"), ("--features", "speed")):
            complaint = io.StringIO()
            with contextlib.redirect_stderr(complaint), self.assertRaises(SystemExit) as caught:
                compare_peers.arguments_from([option, value])
            self.assertEqual(caught.exception.code, 2)
            self.assertIn(option, complaint.getvalue())


class Times(unittest.TestCase):
    """The course of a comparison, with numbers for the gradients and for the times."""

    def compare(self, gradients):
        """(exit code, stdout, stderr): `gradients` is {name: a number, or why it is missing}."""
        def ours(loaded, family, the_shape, tensors):
            if isinstance(gradients["fmha_bwd"], str):
                raise plan.Failure(3, gradients["fmha_bwd"])
            return lambda: gradients["fmha_bwd"], "simt"

        def peers(the_shape, tensors):
            calls = {name: lambda value=gradients[name]: value for name in plan.PEERS
                     if not isinstance(gradients[name], str)}
            return calls, {name: gradients[name] for name in plan.PEERS if name not in calls}

        contestants = SimpleNamespace(inputs=lambda the_shape: None, ours=ours, peers=peers,
                                      milliseconds=lambda call, count: abs(call()))
        errors = SimpleNamespace(distance=lambda actual, expected: abs(actual - expected) / abs(expected))
        modules = {"peers.contestants": contestants, "peers.errors": errors}
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            given = compare_peers.arguments_from(["--rounds", "3"])
            code = compare_peers.compare_times(given, [plan.Row(shape())], None, {"device": "a GPU"})
        return code, out.getvalue(), err.getvalue()

    def test_what_agrees_is_timed(self):
        code, out, err = self.compare({"fmha_bwd": 1.0, "cuDNN": 1.01, "FA2": 1.0})
        self.assertEqual((code, err), (0, ""))
        self.assertIn("| 1.010 (1.010..1.010) | 1.000 (1.000..1.000) |", out)

    def test_wrong_gradients_are_not_timed_and_exit_with_1(self):
        for wrong in (1.03, math.nan):
            code, out, err = self.compare({"fmha_bwd": wrong, "cuDNN": 1.0, "FA2": 1.0})
            self.assertEqual(code, 1)
            self.assertIn("| simt | n/a | n/a | n/a | n/a | n/a |", out)
            self.assertIn("differ from cuDNN's", err)

    def test_a_peer_that_lacks_the_shape_or_disagrees_is_left_out_with_its_reason(self):
        code, out, err = self.compare({"fmha_bwd": 1.0, "cuDNN": 1.0, "FA2": "no such shape"})
        self.assertEqual(code, 0)
        self.assertIn("FA2: no such shape", err)
        self.assertIn("| 1.000 (1.000..1.000) | n/a |", out)
        code, out, err = self.compare({"fmha_bwd": 1.0, "cuDNN": 1.0, "FA2": 2.0})
        self.assertEqual(code, 0)
        self.assertIn("FA2: its gradients differ", err)

    def test_nothing_to_time_exits_with_3(self):
        code, _, err = self.compare({"fmha_bwd": "too long", "cuDNN": 1.0, "FA2": 1.0})
        self.assertEqual(code, 3)
        self.assertIn("fmha_bwd: too long", err)
        code, _, _ = self.compare({"fmha_bwd": 1.0, "cuDNN": "no", "FA2": "no"})
        self.assertEqual(code, 3)


class SharedLibrary(unittest.TestCase):
    def test_a_file_that_is_not_there_is_bad_usage(self):
        with self.assertRaises(plan.Failure) as caught:
            library.Library("/nonexistent.so")
        self.assertEqual(caught.exception.code, 2)

    @unittest.skipUnless("FMHA_BWD_LIBRARY" in os.environ, "FMHA_BWD_LIBRARY names no libfmha_bwd_nvidia.so")
    def test_the_struct_has_the_members_of_the_header(self):
        loaded = library.Library(os.environ["FMHA_BWD_LIBRARY"])
        for member, value, code, text in (
                ("batch", -7, 2, "--batch: -7"), ("hdim_v", 600, 2, "--hdim-v: 600"),
                ("dtype", 9, 2, "dtype: 9"), ("mask", 9, 2, "mask: 9"), ("layout", 9, 2, "layout: "),
                ("scale", math.inf, 2, "--scale: inf"), ("batch", 2, 3, "'nonesuch'"),
                ("window_left", 5, 2, "window_left: 5"), ("window_right", 6, 2, "window_right: 6"),
                ("prefix", -1, 2, "prefix: -1"), ("documents", 1, 2, "document_ends: null"),
                ("seqlens_q", (ctypes.c_int64 * 2)(1, 2), 2, "seqlens_k: null"),
                ("seqlens_k", (ctypes.c_int64 * 2)(1, 2), 2, "seqlens_q: null"),
                ("softcap", -2, 2, "--softcap: -2"), ("alibi", 3, 2, "alibi: 3"), ("sink", 4, 2, "sink: 4"),
                ("dropout", 1, 2, "--dropout: 1"), ("dropout_offset", 2**61, 2, f"--dropout-offset: {2**61}"),
                ("deterministic", 7, 2, "deterministic: 7")):
            problem = library.problem_of(shape(layout="bhsd"))
            setattr(problem, member, value)
            with self.assertRaises(plan.Failure) as caught:
                loaded.workspace(problem, "nonesuch")
            self.assertEqual(caught.exception.code, code)
            self.assertIn(text, str(caught.exception))

    @unittest.skipUnless("FMHA_BWD_LIBRARY" in os.environ, "FMHA_BWD_LIBRARY names no libfmha_bwd_nvidia.so")
    def test_the_table_has_the_sequences_and_the_ends_of_documents(self):
        loaded = library.Library(os.environ["FMHA_BWD_LIBRARY"])
        table = loaded.table(library.problem_of(feature_shape(documents=(3, 7, 6))), 16)
        self.assertEqual(memoryview(table).cast("q").tolist(), [3, 10])
        with self.assertRaises(plan.Failure) as caught:
            loaded.table(library.problem_of(feature_shape(sequences=(4, 1, 3))), 16)
        self.assertIn("table_bytes: 16 is not ", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
