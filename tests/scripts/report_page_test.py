"""Opens the page of `fmha_bwd report` in a headless Chromium. FMHA_BWD is the program; exits with 77, which
CTest reads as skipped, where there is no browser. FMHA_BWD_SCREENSHOTS names a folder for the pictures."""
import html
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))
import made_up_results  # noqa: E402
from browser import Browser, find_browser, share_of_rows_with_content  # noqa: E402

SKIPPED = 77
MISSING = "—"
browser = None


def time_of(item):
    """The median over rounds of the medians of their batches, in ms; None without rounds."""
    return median(median(one["batch_ms"]) for one in item["rounds"]) if item["rounds"] else None


def compared_time(one, other):
    """The time of `one` that is compared with `other`: of graph replays where all rounds of both have them."""
    rounds = [round for item in (one, other) if item for round in item["rounds"]]
    if other and rounds and all(round["graph_ms"] for round in rounds):
        return median(median(round["graph_ms"]) for round in one["rounds"])
    return time_of(one)


def expected_numbers(item, bandwidth):
    """What a row of the table of cases has to show, from the raw samples: {column: number or None}."""
    keys = "ms tflops dense gbytes peak roofline single graph clock".split()
    ms = time_of(item)
    if ms is None:
        return dict.fromkeys(keys)
    rounds, seconds = item["rounds"], ms * 1e-3
    replayed = [median(one["graph_ms"]) for one in rounds if one["graph_ms"]]
    shortest = item["flops"] / item["peak_flops"] if item["peak_flops"] else None  # at the peak, in seconds
    least = max(shortest, item["bytes"] / (bandwidth * 1e9)) if shortest and bandwidth else None
    return {"ms": ms, "tflops": item["flops"] / seconds / 1e12, "dense": item["flops_dense"] / seconds / 1e12,
            "gbytes": item["bytes"] / seconds / 1e9, "peak": shortest and shortest / seconds * 100,
            "roofline": least and least / seconds * 100,
            "single": median(median(one["single_ms"]) for one in rounds),
            "graph": median(replayed) if replayed else None,
            "clock": median(one["telemetry"]["clock_mhz"] for one in rounds)}


class Table:
    """A sortable table in the page's elements."""

    def __init__(self, section):
        self.headings = [th for th in section.one("thead").all("th")]
        self.keys = [th["data-key"] for th in self.headings]
        self.rows = [row.all("td") for row in section.one("tbody").all("tr") if row["hidden"] is None]

    def cell(self, row, key):
        return row[self.keys.index(key)]

    def texts(self, key):
        return [self.cell(row, key).text for row in self.rows]

    def values(self, key):
        return [float(self.cell(row, key)["data-value"] or "nan") for row in self.rows]


class PageTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        made_up_results.write_all(cls.folder)
        cls.pages = {}

    def page(self, *words):
        """The path of the page that `report WORDS` makes; made once."""
        if words not in self.pages:
            path = self.folder / f"page{len(self.pages)}.html"
            command = [os.environ["FMHA_BWD"], "report", *words, "-o", path]
            subprocess.run(command, cwd=self.folder, check=True)
            self.pages[words] = path
        return self.pages[words]

    def dom(self, *words, **options):
        """The elements of that page; nothing may have been said on the console."""
        root, console = browser.dom(self.page(*words), **options)
        self.assertEqual(console, [])
        self.assertEqual(root.one("html")["data-ready"], "yes")
        return root

    def results(self, name):
        return json.loads((self.folder / name).read_text())

    def assert_shows(self, cell, number, what):
        if number is None or math.isnan(number):
            self.assertEqual((cell.text, cell["data-value"]), (MISSING, None), what)
            return
        self.assertAlmostEqual(float(cell["data-value"]) / number, 1.0, delta=1e-12, msg=what)
        mantissa, _, exponent = cell.text.partition("e")
        last_digit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        self.assertLessEqual(abs(float(cell.text) - number), 0.5000001 * last_digit, what)


class Numbers(PageTest):
    def check_cases(self, table, cases, bandwidth):
        self.assertEqual(table.texts("name"), [item["name"] for item in cases])
        for row, item in zip(table.rows, cases):
            for key, number in expected_numbers(item, bandwidth).items():
                self.assert_shows(table.cell(row, key), number, f"{item['name']}: {key}")

    def test_every_case_has_a_row_with_the_numbers_of_its_samples(self):
        results = self.results("h200.json")
        table = Table(self.dom("h200.json").one("section", id="cases"))
        self.check_cases(table, results["cases"], results["context"]["fmha_bwd"]["memory_gbytes_per_s"])
        self.assertEqual(table.texts("verification")[-1], results["cases"][-1]["error"])

    def test_without_a_peak_shares_are_missing_and_the_roofline_is_not_drawn(self):
        root = self.dom("emulated.json")
        self.check_cases(Table(root.one("section", id="cases")), self.results("emulated.json")["cases"], 0.0)
        self.assertIn("not known", root.one("p", class_="no-peak").text)
        self.assertEqual(root.one("section", id="roofline").all("svg"), [])
        self.assertIn("emulated", root.one("div", id="warnings").one("p").text)
        self.assertNotIn("NaN", root.one("main").text)

    def test_ratios_are_those_of_the_medians(self):
        table = Table(self.dom("h200.json", "--baseline", "baseline.json").one("section", id="comparison"))
        new = {item["name"]: item for item in self.results("h200.json")["cases"]}
        base = {item["name"]: item for item in self.results("baseline.json")["cases"]}
        self.assertEqual(sorted(table.texts("name")), sorted(new.keys() | base.keys()))
        for row in table.rows:
            name = table.cell(row, "name").text
            items = (new.get(name), base.get(name))
            pair = [item and compared_time(item, other) for item, other in zip(items, reversed(items))]
            ratio = pair[0] / pair[1] if all(pair) else None
            self.assert_shows(table.cell(row, "ratio"), ratio, name)
            self.assert_shows(table.cell(row, "new_ms"), pair[0], name)
            self.assert_shows(table.cell(row, "base_ms"), pair[1], name)
        self.assertIn("S4096", table.texts("name")[0])  # the slowest comes first

    def test_the_figures_count_cases_errors_and_throttled_rounds(self):
        results = self.results("h200.json")["cases"]
        figures = {one["data-figure"]: one.all("dd")[0].text for one in self.dom("h200.json").all("div")
                   if one["data-figure"]}
        best = max(item["flops"] / time_of(item) * 1e-9 for item in results if item["rounds"])
        self.assertEqual(figures.pop("best"), f"{best:.4g}")
        self.assertEqual(figures, {"cases": str(len(results)), "errors": "1", "throttled": "2"})

    def test_charts_have_a_mark_for_every_case_with_a_time(self):
        root = self.dom("h200.json", "other.json")
        cases = self.results("h200.json")["cases"] + self.results("other.json")["cases"]
        measured = [item["name"] for item in cases if item["rounds"]]
        for section in ("lengths", "roofline"):
            marks = root.one("section", id=section).all("g", role="img")
            names = [mark["aria-label"].split("\n")[0] for mark in marks]
            self.assertEqual(sorted(names), sorted(measured), section)
        self.assertEqual(len(root.one("section", id="lengths").one("div", class_="panels").all("svg")), 2)
        self.assertNotIn("NaN", "".join(path["d"] or "" for path in root.all("path")))

    def test_masks_are_drawn_and_each_case_has_its_command(self):
        root = self.dom("h200.json")
        captions = [one.one("b").text for one in root.one("section", id="masks").all("figure")]
        self.assertEqual(set(captions), set(made_up_results.TOP))
        commands = [code.text for code in root.one("section", id="reproduce").all("code")]
        self.assertEqual(commands, [item["command"] for item in self.results("h200.json")["cases"]])


class Behaviour(PageTest):
    def test_the_address_sorts_by_a_column_with_missing_numbers_last(self):
        for order in ("asc", "desc"):
            root = self.dom("h200.json", fragment=f"#sort=tflops&order={order}")
            table = Table(root.one("section", id="cases"))
            values = table.values("tflops")
            self.assertTrue(math.isnan(values[-1]))
            self.assertEqual(values[:-1], sorted(values[:-1], reverse=order == "desc"))
            sorted_by = {th["data-key"]: th["aria-sort"] for th in table.headings if th["aria-sort"]}
            self.assertEqual(sorted_by, {"tflops": f"{order}ending"})

    def test_a_click_on_a_heading_sorts_and_another_turns_the_order_round(self):
        clicks = """<script>for (let i = 0; i < 2; ++i)
            document.querySelector('#cases th[data-key=ms] button').click();
            document.querySelector('#lengths .legend button').click();</script>"""
        path = self.folder / "clicked.html"
        path.write_text(self.page("h200.json").read_text().replace("</body>", clicks + "</body>"))
        root, console = browser.dom(path)
        self.assertEqual(console, [])
        values = Table(root.one("section", id="cases")).values("ms")[:-1]
        self.assertEqual(values, sorted(values))
        names = [mark["aria-label"] for mark in root.one("section", id="lengths").all("g", role="img")]
        self.assertTrue(names)
        self.assertFalse([name for name in names if name.startswith("no_mask/fp16/")])

    def test_the_address_filters_by_words(self):
        root = self.dom("h200.json", fragment="#filter=BF16+S512")
        names = Table(root.one("section", id="cases")).texts("name")
        self.assertEqual(len(names), 6)
        self.assertTrue(all("bf16" in name and "S512" in name for name in names))
        self.assertEqual(root.one("span", role="status").text, "6 of 71 cases")

    def test_text_from_the_results_is_never_markup(self):
        evil = "</script><script>document.title='broken'</script><img src=x onerror=alert(1)>"
        made = self.results("h200.json")
        made["cases"][0].update(name=evil, error=evil, mask=evil, rounds=[])
        made["context"]["fmha_bwd"]["command"] = evil
        (self.folder / "evil.json").write_text(json.dumps(made))
        root = self.dom("evil.json", "--title", evil)
        self.assertEqual(root.one("h1").text, evil)
        self.assertEqual(root.one("title").text, evil)
        self.assertEqual(root.all("img"), [])
        self.assertEqual(Table(root.one("section", id="cases")).texts("name")[0], evil)

    def test_an_error_in_a_page_is_seen_here(self):
        path = self.folder / "error.html"
        path.write_text("<script>undefinedFunction()</script>")
        self.assertIn("undefinedFunction is not defined", browser.dom(path)[1][0])


class Looks(PageTest):
    EVERYTHING = ("h200.json", "other.json", "--baseline", "baseline.json")

    def picture(self, name):
        return Path(os.environ.get("FMHA_BWD_SCREENSHOTS", self.folder)) / name

    def framed(self, width):
        """A page that holds the report in a frame so wide, since windows have a least width. It writes the
        widths of the frame and of its content into its body."""
        path = self.folder / f"framed{width}.html"
        content = html.escape(self.page(*self.EVERYTHING).read_text())
        path.write_text(f"""<body style="margin:0">
            <iframe style="border:0" width="{width}" height="1000" srcdoc="{content}"></iframe>
            <script>document.querySelector("iframe").onload = ({{target}}) => {{
            const page = target.contentDocument.documentElement;
            const width = target.contentWindow.innerWidth;
            document.body.dataset.widths = [width, page.scrollWidth, page.dataset.ready];
            }};</script>""")
        return path

    def test_a_wide_window_needs_no_scrolling_sideways(self):
        root = self.dom(*self.EVERYTHING)
        self.assertLessEqual(int(root.one("html")["data-width"]), 1400)
        file = self.picture("wide.png")
        browser.screenshot(self.page(*self.EVERYTHING), file)
        share, size = share_of_rows_with_content(file)
        self.assertEqual(size, (1400, 1000))
        self.assertGreater(share, 0.5)

    def test_a_narrow_window_needs_no_scrolling_sideways(self):
        path = self.framed(400)
        root, console = browser.dom(path, width=500)
        self.assertEqual(console, [])
        self.assertEqual(root.one("body")["data-widths"], "400,400,yes")
        file = self.picture("narrow.png")
        browser.screenshot(path, file, width=500)
        self.assertGreater(share_of_rows_with_content(file)[0], 0.5)

    def test_a_blank_page_is_seen_here(self):
        path = self.folder / "blank.html"
        path.write_text("<body style='background:#abc'>")
        browser.screenshot(path, self.folder / "blank.png", width=500, height=300)
        self.assertEqual(share_of_rows_with_content(self.folder / "blank.png"), (0.0, (500, 300)))


if __name__ == "__main__":
    command = find_browser()
    if command is None:
        print("skipped: no Chromium here; scripts/setup.sh browser installs one", file=sys.stderr)
        sys.exit(SKIPPED)
    browser = Browser(command)
    unittest.main()
