"""Findings of the walk over the operators, as text: counts, and by operator and message what is
not as it should be."""

import collections
import re

# "none": PyTorch itself refuses the call; "outside": tensors that are not dense; "fixed": PyTorch
# leaves no size of it open; "unmade": its tests fail to make samples of a type.
VERDICTS = (
    *("equal", "wrong", "refused", "failed", "crash"),
    *("export", "fixed", "outside", "none", "unmade"),
)
TROUBLE = ("wrong", "crash", "failed", "refused")


def cases_of(lines, kind):
    return [
        (line["name"], case) for line in lines if line["kind"] == kind for case in line["cases"]
    ]


def counts(lines):
    for kind in ("static", "dynamic"):
        cases = cases_of(lines, kind)
        if not cases:
            continue
        found = collections.Counter(case["verdict"] for _, case in cases)
        told = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])
        names = len({name for name, _ in cases})
        yield f"{kind}: {names} operators, {len(cases)} calls: {told}"
        if found["unmade"]:
            yield f"  no samples of a type: {', '.join(unmade(cases))}"
        yield from counts_officially(cases)


def unmade(cases):
    """Operators with the types of which PyTorch's tests fail to make samples."""
    of = [(name, case["dtype"]) for name, case in cases if case["verdict"] == "unmade"]
    return sorted({f"{name} {dtype}" for name, dtype in of})


def counts_officially(cases):
    asked = [case["official"].split()[0] for _, case in cases if "official" in case]
    if asked:
        told = ", ".join(f"{n} {word}" for word, n in collections.Counter(asked).most_common())
        yield f"  on the official runtime: {told}"


def general(message):
    """A message without what is of one case only."""
    message = re.sub(r"'[\w.]*'", "'...'", message)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", message)[:150]


def grouped(cases, verdict):
    """By the operator that was refused (of others the one called) and message: which calls."""
    groups = collections.defaultdict(list)
    for name, case in cases:
        if case["verdict"] == verdict:
            subject = case.get("op") or name
            message = "" if verdict == "wrong" else general(case.get("message", ""))
            groups[subject, case.get("code", ""), message].append((name, case))
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def section(cases, verdict):
    for (subject, code, message), found in grouped(cases, verdict):
        names = sorted({name for name, _ in found})
        dtypes = sorted({case["dtype"] for _, case in found})
        yield f"{len(found):4} {subject} {code} ({', '.join(dtypes)}) in {', '.join(names[:6])}"
        yield f"       {found[0][1]['message'][:220]}"
        yield f"       called with {found[0][1]['called'][:160]}"


def text(lines):
    lines = list(lines)
    parts = list(counts(lines))
    for kind in ("static", "dynamic"):
        for verdict in TROUBLE:
            told = list(section(cases_of(lines, kind), verdict))
            if told:
                parts += ["", f"## {kind}, {verdict}", "", *told]
    return "\n".join(parts)


def told(line):
    """A line for who waits."""
    found = collections.Counter(case["verdict"] for case in line["cases"])
    counted = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])
    return f"{line['name']} {line['kind']}: {counted or 'no calls'}"
