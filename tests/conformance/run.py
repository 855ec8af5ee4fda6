"""The official stack judges our files: every program is lowered by the command line, loaded by the
official runtime and compared with the numbers that PyTorch recorded; and no plan or file of ours
may be larger than what the official exporter makes of the same program.

Each program runs in a process of its own, because the runtime aborts on some bad inputs.

    run.py --all       every case
    run.py WORD...     the cases whose titles contain one of the words
    run.py --quick     some cases of every kind
    run.py --rest      the others

The closing line is "N passed, N failed".
"""

import multiprocessing
import sys

import bundles
import complex_numbers
import delegates
import documents
import dtypes
import dumps
import emit_files
import expanded
import file_options
import functorch_edges
import functorch_levels
import functorch_rows
import inspector
import llm
import judge_models
import judge_tables
import named_tensors
import own_partitioners
import own_passes
import own_planners
import precisions
import processes
import programs
import recipe_models
import recipes
import recipes_better
import records
import runtimes
import serde
import spectra
import torch
import training
import weight_files
import xnnpack


def judge_emitted(folder):
    assert emit_files.main() == 0, "see above"


def judge_delegates(folder):
    assert delegates.main() == 0, "see above"


def judge_expanded(case, folder):
    programs.judge(*case, folder)


def judge_complex(case, folder):
    complex_numbers.judge(*case, folder)


def judge_dtypes(folder):
    return dtypes.main(folder)


def drawn_cases():
    """Programs whose inputs are drawn: the same ones each time, whatever comes before them."""
    for kind, family, judge in (
        ("expanded", expanded, judge_expanded),
        ("spectra", spectra, judge_expanded),
        ("functorch", functorch_levels, judge_expanded),
        ("functorch", functorch_edges, judge_expanded),
        ("functorch", functorch_rows, judge_expanded),
        ("complex", complex_numbers, judge_complex),
        ("language models", llm, judge_expanded),
    ):
        torch.manual_seed(0)
        for case in family.cases():
            yield f"{kind}: {case[0]}", judge, (case,)


def cases():
    for name in runtimes.SINGLE:
        yield f"{name}: numbers", judge_models.judge_program, (name,)
    for name in [name for name in runtimes.SINGLE if name not in runtimes.OFFICIALLY_REFUSED]:
        yield (
            f"{name}: sizes",
            judge_models.judge_sizes,
            ({"forward": runtimes.MODELS / f"{name}.pt2"},),
        )
    story = {m: runtimes.SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}
    yield "stories260k: sizes", judge_models.judge_story_sizes, (story,)
    yield (
        "face-rfb320: sizes",
        judge_models.judge_sizes,
        ({"forward": runtimes.SAMPLES / "face-rfb320.pt2"},),
    )
    for name in ("dim", "auto", "dynamic", "derived", "two inputs", "unbacked"):
        yield f"largest sizes: {name}", judge_models.judge_largest, (name,)
    yield from drawn_cases()
    yield "operator table: official kernels", judge_tables.judge_table, ()
    yield "operator table: PyTorch's operators", judge_tables.judge_list, ()
    yield "op_db: what is as exact", judge_tables.judge_exactness, ()
    yield "dtypes: refused or right", judge_dtypes, ()
    yield "tests/emit: every file", judge_emitted, ()
    yield "tests/emit: delegates", judge_delegates, ()
    yield "encdec: three methods and constants", judge_models.judge_package, ()
    yield "mlp: external weights", judge_models.judge_external, ()
    yield "stories260k: 200 tokens", judge_models.judge_story, ()
    yield "face-rfb320: numbers", judge_models.judge_face, ()
    yield "mobilenet_v2: numbers and sizes", judge_models.judge_mobilenet, ()
    for family in (
        bundles,
        documents,
        dumps,
        file_options,
        inspector,
        named_tensors,
        own_partitioners,
        own_passes,
        own_planners,
        precisions,
        weight_files,
        recipe_models,
        records,
        training,
        xnnpack,
        serde,
        recipes,
        recipes_better,
    ):
        yield from family.cases()


# --- The choice ----------------------------------------------------------------------------------

# A kind of case is a function that judges and the first word of the title. --quick takes the first
# case of each kind, and one in so many of the others. Kinds with many cases are drawn over families
# of operators, so that each family keeps some.
ONE_IN = 8


def quick_titles(cases):
    """Titles of the cases that --quick takes."""
    seen, titles = {}, set()
    for title, judge, _ in cases:
        kind = judge, title.split(":")[0] if judge is judge_expanded else ""
        place = seen.get(kind, 0)
        seen[kind] = place + 1
        if place % ONE_IN == 0:
            titles.add(title)
    return titles


def chosen(arguments):
    found = list(cases())
    if arguments in (["--quick"], ["--rest"]):
        titles = quick_titles(found)
        return [case for case in found if (case[0] in titles) == (arguments == ["--quick"])]
    everything = arguments in ([], ["--all"])
    return [case for case in found if everything or any(word in case[0] for word in arguments)]


def main(arguments):
    processes.preload()
    passed = failed = 0
    for title, verdict, text, seconds in processes.judged(chosen(arguments)):
        passed += verdict == "passed"
        failed += verdict != "passed"
        told = f"\n{text}" if verdict == "failed" else f"  {text}"
        print(f"{verdict} {seconds:6.1f} s  {title}{told}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main(sys.argv[1:]))
