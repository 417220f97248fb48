#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""render.py - draws an asciicast as an SVG that plays in a browser

usage: render.py CAST SVG

Needs the terminal emulator pyte (PyPI). Frames lie below each other, and one
animation moves from one to the next. A line that several frames show is in the
file once. Waits longer than the cast's idle_time_limit are cut to it.
"""
import html
import json
import sys

import pyte

CELL_W, CELL_H, PAD = 8.4, 18, 14
FRAME_S = 0.08  # what changes within this time is one frame
LAST_S = 4.0
COLOURS = {"default": "#d8dee9", "black": "#3b4252", "red": "#e06c75",
           "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
           "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#eceff4"}


def colour(name):
    if name in COLOURS:
        return COLOURS[name]
    if name.startswith("bright") and name[6:] in COLOURS:
        return COLOURS[name[6:]]
    return "#" + name if len(name) == 6 else COLOURS["default"]


def line_svg(row, width):
    """One line of the screen: a text with a span for each colour."""
    runs = []
    for x in range(width):
        c = row[x]
        style = (colour(c.fg), c.bold)
        if runs and runs[-1][1] == style:
            runs[-1][2] += c.data
        else:
            runs.append([x, style, c.data])
    if runs and not runs[-1][2].strip():
        runs.pop()
    out = ""
    for x, (fill, bold), text in runs:
        if text.strip():
            out += '<tspan x="%.1f" fill="%s"%s>%s</tspan>' % (
                x * CELL_W, fill, ' font-weight="bold"' if bold else "",
                html.escape(text.rstrip()))
    return "<text>%s</text>" % out if out else ""


def frames(path):
    """[(time, [line, ...])] of a cast, and its header."""
    with open(path, encoding="utf-8") as f:
        header, *events = [json.loads(x) for x in f]
    screen = pyte.Screen(header["width"], header["height"])
    stream = pyte.Stream(screen)
    limit, out = header.get("idle_time_limit", 1e9), []
    now = last = 0.0
    for at, kind, data in events:
        if kind != "o":
            continue
        now += min(at - last, limit)
        last = at
        stream.feed(data)
        lines = [line_svg(screen.buffer[y], header["width"])
                 for y in range(header["height"])]
        if out and now - out[-1][0] < FRAME_S:
            out[-1] = (out[-1][0], lines)
        elif not out or lines != out[-1][1]:
            out.append((now, lines))
    return header, out, now + LAST_S


def svg(header, shown, seconds):
    width = header["width"] * CELL_W + 2 * PAD
    height = header["height"] * CELL_H + 2 * PAD
    ids, steps, strip = {}, [], ""
    for i, (at, lines) in enumerate(shown):
        steps.append("%.3f%%{transform:translateY(%.0fpx)}" % (
            100 * at / seconds, -i * height))
        for y, line in enumerate(lines):
            if line:
                key = ids.setdefault(line, "l%d" % len(ids))
                strip += '<use href="#%s" x="%d" y="%.0f"/>' % (
                    key, PAD, i * height + PAD + (y + 0.8) * CELL_H)
    lines = "".join(text.replace("<text", '<text id="%s"' % key, 1)
                    for text, key in ids.items())
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" '
        'viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,'
        'DejaVu Sans Mono,monospace" font-size="14" xml:space="preserve">'
        "<style>@keyframes play{%s}#strip{animation:play %.2fs steps(1,end) "
        "infinite}text{white-space:pre}</style><defs>%s</defs>"
        '<rect width="100%%" height="100%%" rx="8" fill="#1e222a"/>'
        '<g id="strip">%s</g></svg>\n' % (
            width, height, width, height, "".join(steps), seconds, lines,
            strip))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    header, shown, seconds = frames(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(svg(header, shown, seconds))
    print("%d frames, %.0f s" % (len(shown), seconds))


main()
