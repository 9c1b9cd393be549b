#!/usr/bin/python3
"""Plots for docs/shedding.md, from the figures of the simulations: scripts/shedding_plots.py FIGURES.csv SPIKE.csv docs/images

The figures are written by the tests AdaptiveSimulation and SheddingSimulation with WEIR_FIGURES=FIGURES.csv and
WEIR_SPIKE_FIGURES=SPIKE.csv. The same figures make the same files.
"""

import pathlib
import sys

COLOURS = {"Weir": "#0b6e4f", "Gradient2": "#c1440e", "Vegas": "#3f6fb5", "AIMD": "#8a5fb0", "fixed 60": "#888888"}


def read(path):
    rows = []
    for line in pathlib.Path(path).read_text().splitlines():
        load, name, goodput, p99, refused, *limits = line.split(",")
        rows.append((float(load), name, float(goodput), float(p99), float(refused), [float(each) for each in limits]))
    return rows


def svg(width, height, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12">')
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *parts, "</svg>"]) + "\n"


def text(x, y, what, anchor="start", colour="#222222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{what}</text>'


def legend(x, y):
    parts = []
    for name, colour in COLOURS.items():
        parts += [f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>', text(x + 14, y, name)]
        x += 95
    return parts


def bars(rows, column, title, most, unit):
    """Groups of bars, one group for each load."""
    loads = sorted({row[0] for row in rows})
    left, top, height, group = 50, 50, 180, 150
    parts = [text(left, 20, title), *legend(left, 38)]
    for step in range(5):
        y = top + height - height * step / 4
        parts += [f'<line x1="{left}" x2="{left + group * len(loads)}" y1="{y}" y2="{y}" stroke="#dddddd"/>',
                  text(left - 6, y + 4, unit(most * step / 4), "end")]
    for place, load in enumerate(loads):
        parts.append(text(left + group * place + 62, top + height + 18, f"{load:g}× load", "middle"))
        for number, row in enumerate(row for row in rows if row[0] == load):
            tall = height * min(row[column] / most, 1)
            parts.append(f'<rect x="{left + group * place + 12 + 22 * number}" y="{top + height - tall:.1f}" width="18" '
                         f'height="{tall:.1f}" fill="{COLOURS[row[1]]}"/>')
    return svg(left + group * len(loads) + 10, top + height + 30, parts)


def courses(rows, load):
    """How the limits move over time."""
    left, top, height, width, most = 50, 50, 200, 600, 200
    parts = [text(left, 20, f"Limits at {load:g}× load; 50 workers, 25 from the 60th second on"), *legend(left, 38)]
    for step in range(5):
        y = top + height - height * step / 4
        parts += [f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#dddddd"/>',
                  text(left - 6, y + 4, f"{most * step / 4:g}", "end")]
    for row in (row for row in rows if row[0] == load):
        points = " ".join(f"{left + width * second / len(row[5]):.1f},{top + height - height * min(limit / most, 1):.1f}"
                          for second, limit in enumerate(row[5]))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[row[1]]}" stroke-width="1.5"/>')
    for second in range(0, 121, 20):
        parts.append(text(left + width * second / 120, top + height + 18, f"{second} s", "middle"))
    return svg(left + width + 20, top + height + 30, parts)


def spike(path):
    """What a node admits of each class, second by second, on top of each other; and what of it was of use."""
    seconds = [[int(each) for each in line.split(",")] for line in pathlib.Path(path).read_text().splitlines()]
    classes = {"critical": "#0b6e4f", "write": "#3f6fb5", "read": "#9fc3e7", "test": "#c9b3dd"}
    left, top, height, width, most = 60, 50, 200, 640, 1200
    x, y = lambda second: left + width * second / len(seconds), lambda count: top + height - height * min(count / most, 1)
    parts = [text(left, 20, "Admitted a second, by class. Capacity 1,000; from second 5 to 80, 6,000 are asked for")]
    place = left
    for name, colour in {**classes, "answered in time": "#222222"}.items():
        parts += [f'<rect x="{place}" y="29" width="10" height="10" fill="{colour}"/>', text(place + 14, 38, name)]
        place += 90
    below = [0] * len(seconds)
    for number, colour in enumerate(classes.values()):
        above = [low + row[2 + number] for low, row in zip(below, seconds)]
        edge = [f"{x(at + half):.1f},{y(count):.1f}" for at, count in enumerate(above) for half in (0, 1)]
        back = [f"{x(at + half):.1f},{y(count):.1f}" for at, count in reversed(list(enumerate(below))) for half in (1, 0)]
        parts.append(f'<polygon points="{" ".join(edge + back)}" fill="{colour}"/>')
        below = above
    useful = " ".join(f"{x(at + half):.1f},{y(row[1]):.1f}" for at, row in enumerate(seconds) for half in (0, 1))
    parts.append(f'<polyline points="{useful}" fill="none" stroke="#222222" stroke-width="1.2"/>')
    for step in range(5):
        parts += [f'<line x1="{left}" x2="{left + width}" y1="{y(300 * step)}" y2="{y(300 * step)}" stroke="#dddddd" stroke-opacity="0.6"/>',
                  text(left - 6, y(300 * step) + 4, f"{300 * step:,}", "end")]
    for second in range(0, len(seconds), 10):
        parts.append(text(x(second), top + height + 18, f"{second} s", "middle"))
    return svg(left + width + 20, top + height + 30, parts)


def main():
    rows, folder = read(sys.argv[1]), pathlib.Path(sys.argv[3])
    (folder / "shedding-spike.svg").write_text(spike(sys.argv[2]))
    (folder / "adaptive-goodput.svg").write_text(
        bars(rows, 2, "Goodput, of what the workers could do", 1.0, lambda value: f"{100 * value:.0f} %"))
    (folder / "adaptive-p99.svg").write_text(
        bars(rows, 3, "Time in progress, 99th percentile", 0.8, lambda value: f"{1000 * value:.0f} ms"))
    (folder / "adaptive-limits.svg").write_text(courses(rows, 5.0))


main()
