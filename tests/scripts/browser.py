"""Headless Chromium: opens pages from disk, and what the tests look at in them."""
import shutil
import struct
import subprocess
import tempfile
import zlib
from html.parser import HTMLParser
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """The command of a Chromium that starts; None where there is none. Ubuntu's chromium-browser is none."""
    for name in NAMES:
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None


class Browser:
    def __init__(self, command):
        self.command = command

    def run(self, page, *options, fragment="", width=1400, height=1000):
        """(stdout, messages on the console, among them each uncaught error) of a run on the page."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [self.command, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=5000",
                 f"--user-data-dir={profile}", f"--window-size={width},{height}", *options,
                 Path(page).as_uri() + fragment],
                capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]

    def dom(self, page, **options):
        """The page's elements after its scripts ran, and the messages on the console."""
        text, console = self.run(page, "--dump-dom", **options)
        return parsed(text), console

    def screenshot(self, page, file, **options):
        return self.run(page, f"--screenshot={file}", **options)[1]


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.parts = tag, dict(attributes), parent, []

    def __getitem__(self, attribute):
        return self.attributes.get(attribute)

    @property
    def text(self):
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all(self, tag=None, **attributes):
        """Elements below this one, in the page's order; class_ is one of the classes."""
        wanted_class = attributes.pop("class_", None)
        found = []
        for part in self.parts:
            if isinstance(part, str):
                continue
            classes = (part["class"] or "").split()
            if (tag in (None, part.tag) and (wanted_class is None or wanted_class in classes)
                    and all(part[name] == value for name, value in attributes.items())):
                found.append(part)
            found += part.all(tag, **attributes, class_=wanted_class)
        return found

    def one(self, tag=None, **attributes):
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements <{tag}> {attributes}"
        return found[0]


class _Builder(HTMLParser):
    VOID = {"meta", "br", "input", "link", "hr", "img"}

    def __init__(self):
        super().__init__()
        self.root = self.now = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, attrs, self.now)
        self.now.parts.append(element)
        if tag not in self.VOID:
            self.now = element

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.now.tag == tag, f"</{tag}> in <{self.now.tag}>"
            self.now = self.now.parent

    def handle_data(self, data):
        self.now.parts.append(data)


def parsed(text):
    builder = _Builder()
    builder.feed(text)
    return builder.root


def rows_of(file):
    """The pixels of a PNG of 8 bits a channel: a bytes object for each row, and the bytes of a pixel."""
    data = Path(file).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed = 8, b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6), (depth, colour)
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    pixel = 3 if colour == 2 else 4
    raw, stride, rows = zlib.decompress(packed), width * pixel, []
    above = bytes(stride)
    for row in range(height):
        start = row * (stride + 1)
        above = _unfiltered(raw[start], raw[start + 1:start + 1 + stride], above, pixel)
        rows.append(above)
    return rows, pixel


def _unfiltered(kind, line, above, pixel):
    """A row from its difference to neighbours (PNG specification, 9.2)."""
    if kind == 0:
        return line
    if kind == 2:
        return bytes((a + b) & 255 for a, b in zip(line, above))
    row = bytearray(pixel) + line  # a pixel of zeros stands before the first
    above = bytes(pixel) + above
    for i in range(pixel, len(row)):
        left, up, corner = row[i - pixel], above[i], above[i - pixel]
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            guess = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                        (abs(left + up - 2 * corner), 2, corner))[2]
        row[i] = (row[i] + guess) & 255
    return bytes(row[pixel:])


def share_of_rows_with_content(file):
    """The share of a PNG's rows that have more than one colour, and its (width, height)."""
    rows, pixel = rows_of(file)
    told = sum(row != row[:pixel] * (len(row) // pixel) for row in rows)
    return told / len(rows), (len(rows[0]) // pixel, len(rows))
