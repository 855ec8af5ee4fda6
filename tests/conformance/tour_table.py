"""The rows of the tour as a table, and their failures by cause."""

import collections

COLUMNS = {
    "exported": ["make", "export", "eager"],
    "lowered": ["lower portable", "lower xnnpack"],
    "ours": ["ours", "ours portable", "ours xnnpack"],
    "official": ["official portable", "official xnnpack"],
}


def verdict(line, stages):
    """The cell of a column: yes, no, or empty if it was not tried."""
    found = [line["stages"][stage]["verdict"] for stage in stages if stage in line["stages"]]
    if "failed" in found:
        return "no"
    return "yes" if found and "none" not in found else ""


def seconds(line):
    return sum(stage["seconds"] for stage in line["stages"].values())


def failures(line):
    """Stage and message of all that failed, but of what the official exporter says about it."""
    return [
        (name, stage.get("message", ""))
        for name, stage in line["stages"].items()
        if stage["verdict"] == "failed" and name != "officially lowered"
    ]


def told(line):
    """A line for who waits."""
    columns = " ".join(f"{name} {verdict(line, stages) or '-'}" for name, stages in COLUMNS.items())
    failed = "".join(
        f"\n    {stage}: {message.splitlines()[0][:200] if message else ''}"
        for stage, message in failures(line)
    )
    return f"{line['name']} {line['kind']}: {columns}, {seconds(line):.1f} s{failed}"


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")[:160]


def row(line):
    columns = [verdict(line, stages) for stages in COLUMNS.values()]
    message = "; ".join(f"{stage}: {cell(text)}" for stage, text in failures(line))
    parts = [line["name"], line["kind"], *columns, f"{seconds(line):.1f}", message]
    return f"| {' | '.join(parts)} |"


def counts(lines):
    """How many rows got how far, of each kind."""
    for kind in ("static", "dynamic"):
        rows = [line for line in lines if line["kind"] == kind]
        reached = collections.Counter(
            name
            for line in rows
            for name, stages in COLUMNS.items()
            if verdict(line, stages) == "yes"
        )
        tried = collections.Counter(
            name for line in rows for name, stages in COLUMNS.items() if verdict(line, stages)
        )
        figures = ", ".join(f"{name} {reached[name]} of {tried[name]}" for name in COLUMNS)
        yield f"{kind}: {len(rows)} rows; {figures}"


def family_row(family, kind, rows):
    """How many of a package got how far, of those that were tried."""
    figures = []
    for stages in COLUMNS.values():
        found = collections.Counter(verdict(line, stages) for line in rows)
        figures.append(f"{found['yes']} of {found['yes'] + found['no']}")
    return f"| {family} | {kind} | {len(rows)} | {' | '.join(figures)} |"


def summary(lines):
    """A row for each package and kind; rows of which nothing is open do not count as dynamic."""
    groups = collections.defaultdict(list)
    for line in lines:
        if line["stages"].get("make", {}).get("verdict") != "none":
            groups[line["name"].split("/")[0], line["kind"]].append(line)
    head = ["family", "export", "rows", *COLUMNS]
    table = [family_row(*group, groups[group]) for group in sorted(groups)]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'|'.join(['---'] * len(head))}|", *table])


def markdown(lines):
    lines = sorted(lines, key=lambda line: (line["name"], line["kind"]))
    packages = summary(lines)
    head = ["row", "kind", *COLUMNS, "seconds", "message"]
    rule = "|".join(["---"] * len(head))
    table = [f"| {' | '.join(head)} |", f"|{rule}|", *map(row, lines)]
    return "\n".join([*counts(lines), "", packages, "", *table])
