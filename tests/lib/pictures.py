#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""pictures.py - is every label of an SVG that gnuplot drew inside of its canvas, and none on another or on a dashed rule that stands upright?

usage: pictures.py FILE.svg|FILE.html...      exit status 1, and a line for each that is not

The boxes: place, anchor, size and weight as the file says them, widths as DejaVu Sans has them in its own file.
"""
import re
import struct
import sys
import xml.etree.ElementTree as tree

FONTS = {False: "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", True: "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"}
ASCENT, DESCENT = 0.76, 0.2
NO_WIDTH = "\u2060"
SVG = "{http://www.w3.org/2000/svg}"


def widths(path):
    """Width of each character of a TrueType font, in sizes."""
    data = open(path, "rb").read()
    at = {data[12 + 16 * i:16 + 16 * i].decode(): struct.unpack(">L", data[20 + 16 * i:24 + 16 * i])[0] for i in range(struct.unpack(">H", data[4:6])[0])}
    unit, = struct.unpack(">H", data[at["head"] + 18:at["head"] + 20])
    metrics, = struct.unpack(">H", data[at["hhea"] + 34:at["hhea"] + 36])
    found = {}
    for i in range(struct.unpack(">H", data[at["cmap"] + 2:at["cmap"] + 4])[0]):
        table = at["cmap"] + struct.unpack(">HHL", data[at["cmap"] + 4 + 8 * i:at["cmap"] + 12 + 8 * i])[2]
        if struct.unpack(">H", data[table:table + 2])[0] != 12:
            continue
        for group in range(struct.unpack(">L", data[table + 12:table + 16])[0]):
            first, last, glyph = struct.unpack(">LLL", data[table + 16 + 12 * group:table + 28 + 12 * group])
            for code in range(first, last + 1):
                one = at["hmtx"] + 4 * min(glyph + code - first, metrics - 1)
                found[code] = struct.unpack(">H", data[one:one + 2])[0] / unit
    return found


def boxes(root, fonts):
    """A label is a group with a place and a font around an element of text."""
    for group in root.iter(SVG + "g"):
        text = group.find(SVG + "text")
        if text is None:
            continue
        x, y = map(float, re.fullmatch(r"translate\(([-\d.]+),([-\d.]+)\)", group.get("transform")).groups())
        size, font = float(group.get("font-size")), fonts[group.get("font-weight") == "bold"]
        words = "".join(text.itertext()).strip("\n")
        # of what the font does not have another has a character as wide as high
        length = sum(0 if c in NO_WIDTH else font.get(ord(c), 1) for c in words) * size
        x -= {"start": 0, "middle": length / 2, "end": length}[group.get("text-anchor")]
        yield (x, y - ASCENT * size, x + length, y + DESCENT * size), words


def rules(root):
    """Dashed lines from top to bottom."""
    for path in root.iter(SVG + "path"):
        if path.get("stroke-dasharray"):
            for x, y, x2, y2 in re.findall(r"M([-\d.]+),([-\d.]+) L([-\d.]+),([-\d.]+) (?=M|$| *$)", path.get("d")):
                if x == x2:
                    yield float(x), float(y), float(y2)


def faults(path, fonts):
    text = open(path, encoding="utf-8").read()
    for picture in re.findall(r"<svg\s.*?</svg>", text, re.DOTALL):
        yield from faults_of(tree.fromstring(picture), fonts)
    if not re.search(r"<svg\s", text):
        yield "no picture"


def faults_of(root, fonts):
    _, _, width, height = map(float, root.get("viewBox").split())
    seen, upright = [], list(rules(root))
    for box, words in boxes(root, fonts):
        if box[0] < -0.1 or box[1] < -0.1 or box[2] > width + 0.1 or box[3] > height + 0.1:
            yield f"'{words}' leaves the canvas of {width} x {height}: {box}"
        for other, theirs in seen:
            if box[0] < other[2] - 0.1 and other[0] < box[2] - 0.1 and box[1] < other[3] - 0.1 and other[1] < box[3] - 0.1:
                yield f"'{words}' lies on '{theirs}'"
        for x, top, bottom in upright:
            if box[0] < x < box[2] and box[1] < bottom - 0.1 and top < box[3] - 0.1:
                yield f"a dashed rule goes through '{words}'"
        seen.append((box, words))
    if not seen:
        yield "no text at all"


def main():
    fonts = {bold: widths(path) for bold, path in FONTS.items()}
    bad = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(path, fonts)]
    print("\n".join(bad[:40]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
