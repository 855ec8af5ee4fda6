"""The official inspector joins our records with what our runtime logs: every operator finds its
nodes and the lines they come from, and values are compared, inside of delegates too.
"""

from dumps import record_here
from records import BACKENDS, lower_with_record

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
# It takes the last value of a line for the line's: here that is a running statistic, which a batch
# norm in training mode leaves behind its output. The official exporter refuses such programs.
UNCOMPARED |= {("running_stats", "portable"), ("running_stats", "xnnpack")}
# Decibels that values are from those of the record's program, at least.
LEAST_SNR = 35


def open_inspector(name, backend, folder):
    from executorch.devtools import Inspector
    from run import MODELS

    path = lower_with_record({"forward": MODELS / f"{name}.pt2"}, BACKENDS[backend], folder)
    debug = folder / "ours.bin"
    logged = ("--etrecord", path, "--debug-output", debug, "--intermediates")
    record_here(folder / "model.pte", ["example"], folder, *logged)
    return Inspector(
        etdump_path=str(folder / "ours.etdp"), etrecord=str(path), debug_buffer_path=str(debug)
    )


def check_events(inspector):
    events = [event for block in inspector.event_blocks for event in block.events]
    operators = [event for event in events if event.name not in SCOPES]
    assert operators
    for event in operators:
        assert event.op_types, f"{event.name} has no operators"
        assert any(event.stack_traces.values()), f"{event.name} comes from no line"


def check_gaps(inspector):
    rows = inspector.calculate_numeric_gap("MSE")
    assert len(rows) > 0
    noise = [max(row) for row in rows["gap"]]
    signal = inspector.calculate_numeric_gap("SNR")
    for k, row in enumerate(signal["gap"]):
        # Of equal values there is no ratio.
        assert noise[k] == 0 or min(row) >= LEAST_SNR, f"{signal.iloc[k]}"


def judge_inspector(name, backend, folder):
    import warnings

    warnings.simplefilter("ignore")  # one for each argument by keyword
    inspector = open_inspector(name, backend, folder)
    if name not in BODIES:
        check_events(inspector)
        if (name, backend) not in UNCOMPARED:
            check_gaps(inspector)


def cases():
    from run import SINGLE

    for name in SINGLE:
        for backend in BACKENDS:
            if name not in UNREADABLE:
                yield f"inspector of {name}, {backend}", judge_inspector, (name, backend)
