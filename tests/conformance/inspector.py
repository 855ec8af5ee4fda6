"""The official inspector joins our records with what our runtime logs: every operator finds its
nodes and the lines they come from, and values are compared, inside of delegates too.
"""

from dumps import record_here
from records import BACKENDS, STORY, judged_models, lower_with_record

# Around the others: loading, and a run as a whole.
SCOPES = {"Method::init", "Program::load_method", "Method::execute"}
# The official reader makes the nodes that stand for bodies itself, without handles, and forgets
# those inside of them; the official exporter cannot write such records.
BODIES = {"cond", "token_map"}
# Its graph of operators takes no program that returns a number.
UNREADABLE = {"pytree_io"}
# It compares shapes: the last node behind a product is a view of what the product gives, which runs
# no instruction. The official exporter's own records of such programs fail alike.
UNCOMPARED = {("tinyformer", "portable"), ("quantized_layers", "portable")}
UNCOMPARED |= {("stories260k.prefill", "portable"), ("stories260k.decode", "portable")}
# It takes the last value of a line for the line's: here that is a running statistic, which a batch
# norm in training mode leaves behind its output. The official exporter refuses such programs.
UNCOMPARED |= {("running_stats", "portable"), ("running_stats", "xnnpack")}
# Decibels that values are from those of the record's program, at least.
LEAST_SNR = 35


def inspector_of(record, method, folder):
    """Opens what this runtime logs of a method, on the inputs that the record has."""
    from executorch.devtools import Inspector

    debug = folder / "ours.bin"
    logged = ("--etrecord", record, "--debug-output", debug, "--intermediates")
    record_here(folder / "model.pte", ["example"], folder, "--method", method, *logged)
    return Inspector(
        etdump_path=str(folder / "ours.etdp"), etrecord=str(record), debug_buffer_path=str(debug)
    )


def open_inspector(source, backend, folder):
    path = lower_with_record({"forward": source}, BACKENDS[backend], folder)
    return inspector_of(path, "forward", folder)


def check_events(inspector):
    events = [event for block in inspector.event_blocks for event in block.events]
    operators = [event for event in events if event.name not in SCOPES]
    assert operators
    for event in operators:
        assert event.op_types, f"{event.name} has no operators"
        assert any(event.stack_traces.values()), f"{event.name} comes from no line"


def decibels(row):
    """XNNPACK takes means in images: with a dimension more, over which the inspector would compare
    every number with those of all rows.
    """
    import torch

    theirs, ours = row["aot_intermediate_output"], row["runtime_intermediate_output"]
    if not isinstance(ours, torch.Tensor) or theirs.shape == ours.shape:
        return min(row["gap"])
    assert theirs.squeeze().shape == ours.squeeze().shape, f"{row}"
    off = theirs.reshape(ours.shape).double() - ours
    return 10 * float(torch.log10(theirs.double().square().sum() / off.square().sum()))


def check_gaps(inspector):
    rows = inspector.calculate_numeric_gap("MSE")
    assert len(rows) > 0
    noise = [max(row) for row in rows["gap"]]
    signal = inspector.calculate_numeric_gap("SNR")
    for k in range(len(noise)):
        # Equal values have no ratio.
        assert noise[k] == 0 or decibels(signal.iloc[k]) >= LEAST_SNR, f"{signal.iloc[k]}"


def check_inspector(inspector, name, backend):
    if name not in BODIES:
        check_events(inspector)
        if (name, backend) not in UNCOMPARED:
            check_gaps(inspector)


def judge_inspector(name, source, backend, folder):
    import warnings

    warnings.simplefilter("ignore")  # one for each argument by keyword
    check_inspector(open_inspector(source, backend, folder), name, backend)


def judge_story(method, backend, folder):
    """The inspector takes records of one method: each method has its own in addition to that of
    both."""
    lower_with_record(STORY, BACKENDS[backend], folder)
    record = folder / "each" / f"{method}.etrecord"
    inspector = inspector_of(record, method, folder)
    check_inspector(inspector, f"stories260k.{method}", backend)


def cases():
    for name, source in judged_models():
        for backend in BACKENDS:
            if name not in UNREADABLE:
                title = f"inspector of {name}, {backend}"
                yield title, judge_inspector, (name, source, backend)
    for method in STORY:
        for backend in BACKENDS:
            title = f"inspector of stories260k.{method}, {backend}"
            yield title, judge_story, (method, backend)
