#!/usr/bin/python3
"""Draws the rooms of src/ and which room sees which, from src/CMakeLists.txt: scripts/rooms_picture.py > docs/images/rooms.svg

A room stands above all rooms that it sees. An arrow is left out where a longer way leads to the same room.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
WIDTH, BOX, HEIGHT, GAP = 940, 92, 36, 34
LIBRARY = ("#dcfce7", "#15803d")
OTHERS = ("#f1f5f9", "#64748b")
TOP, BASE, PUBLIC = ("#fef3c7", "#b45309"), ("#f1f5f9", "#64748b"), ("#e0f2fe", "#0369a1")
EVERYTHING = {"server", "cli"}
LEAVES = {"base", "algorithms"}


def rooms():
    """name -> the rooms that it sees."""
    text = (ROOT / "src" / "CMakeLists.txt").read_text()
    found = re.findall(r"^weir_room\((\w+) DIR \S+?(?: SEES ([\w ]+?))?(?: (?:USES|APART|HEADERS)[^)]*)?\)", text, re.M)
    library = re.search(r"set\(WEIR_LIBRARY_ROOMS ([^)]*)\)", text).group(1).replace("weir_", "").split()
    return {name: set(sees.split()) for name, sees in found}, set(library)


def levels(sees):
    """Rows from the bottom: one above the highest room that it sees."""
    level = {}

    def of(name):
        if name not in level:
            level[name] = 1 + max((of(other) for other in sorted(sees[name] - LEAVES)), default=-1)
        return level[name]

    for name in sees:
        of(name)
    return level


def reaches(sees, start, end):
    return any(other == end or reaches(sees, other, end) for other in sees[start] - LEAVES)


def rows_of(sees, level):
    """The rooms of each row, from the bottom. Each moves towards those that it sees and is seen by, a few times."""
    rows = [sorted(name for name in level if level[name] == height) for height in range(max(level.values()) + 1)]
    near = {name: [other for other in sorted(level) if other in sees[name] or name in sees[other]] for name in level}
    for _ in range(20):
        for row in rows:
            place = {name: (index + 0.5) / len(each) for each in rows for index, name in enumerate(each)}
            row.sort(key=lambda name: sum(place[other] for other in near[name]) / max(1, len(near[name])))
    return rows


def box(x, y, width, colours, text, small=""):
    fill, stroke = colours
    middle = x + width / 2
    shape = f'  <rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT + (10 if small else 0)}" rx="6" fill="{fill}" stroke="{stroke}"/>'
    line = f'  <text x="{middle:g}" y="{y + (19 if small else 23):g}" text-anchor="middle" fill="#0f172a">{text}</text>'
    more = f'\n  <text x="{middle:g}" y="{y + 36:g}" text-anchor="middle" fill="#334155" font-size="11">{small}</text>' if small else ""
    return f"{shape}\n{line}{more}"


def main():
    sees, library = rooms()
    for name in EVERYTHING:
        sees.pop(name)
    drawn = {name: others for name, others in sees.items() if name not in LEAVES}
    level = levels(drawn)
    rows = rows_of(drawn, level)
    top, spacing = 95, HEIGHT + GAP
    bottom = top + len(rows) * spacing
    height = bottom + 2 * (HEIGHT + 16) + 8
    places = {}
    for index, row in enumerate(rows):
        y = bottom - (index + 1) * spacing
        step = (WIDTH - 20) / len(row)
        for column, name in enumerate(row):
            places[name] = (10 + step * column + (step - BOX) / 2, y)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
          'font-family="Helvetica, Arial, sans-serif" font-size="14">')
    print("  <title>The rooms of src/ and which room sees which; all arrows point downward.</title>")
    print('  <defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
          '<path d="M0 0L10 5L0 10z" fill="#334155"/></marker></defs>')
    print(f'  <rect width="{WIDTH}" height="{height}" fill="#ffffff"/>')
    print('  <g stroke="#334155" stroke-width="1.2" stroke-opacity="0.65" fill="none" marker-end="url(#a)">')
    for name in sorted(drawn):
        for other in sorted(drawn[name] - LEAVES):
            if any(between != other and reaches(drawn, between, other) for between in drawn[name] - LEAVES):
                continue
            (x, y), (to_x, to_y) = places[name], places[other]
            print(f'    <path d="M{x + BOX / 2:g} {y + HEIGHT:g}L{to_x + BOX / 2:g} {to_y:g}"/>')
    print("  </g>")
    print(box(10, 15, WIDTH - 20, TOP, ", ".join(sorted(EVERYTHING, reverse=True)), "put everything together: may include every room"))
    for name, (x, y) in places.items():
        print(box(x, y, BOX, LIBRARY if name in library else OTHERS, name))
    print(box(10, bottom, 200, LIBRARY, "algorithms"))
    print(box(225, bottom, WIDTH - 235, LIBRARY, "base: leaf helpers, seen by every room above except algorithms"))
    print(box(10, bottom + HEIGHT + 16, WIDTH - 20, PUBLIC, "include/weir: the public headers, standard library only, seen by every room"))
    print("</svg>")


if __name__ == "__main__":
    main()
