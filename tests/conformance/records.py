"""The official tools judge our records: they are parsed, every program in them is run in PyTorch
and compared with what the exported program gives, and handles and maps have to fit each other.
"""

from runtimes import MODELS, SAMPLES, SINGLE

BACKENDS = {"portable": [], "xnnpack": ["--backend", "xnnpack"]}
STORY = {m: SAMPLES / f"stories260k.{m}.pt2" for m in ("prefill", "decode")}


def judged_models():
    """The programs of one method, by name."""
    yield from ((name, MODELS / f"{name}.pt2") for name in SINGLE)
    yield "face-rfb320", SAMPLES / "face-rfb320.pt2"


def lower_with_record(methods, flags, folder):
    from runtimes import lower

    path = folder / "model.etrecord"
    parts = [part for m, file in methods.items() for part in ("--method", f"{m}={file}")]
    extra = ["--etrecord", path, "--etrecord-per-method", folder / "each"]
    lower([*parts, *flags, *extra], folder / "model.pte")
    return path


def leaves(value):
    import torch.utils._pytree as pytree

    return pytree.tree_leaves(value)


def check_program(program, source, where):
    """It computes what the exported program does, on the inputs that this was exported with."""
    import torch
    from runtimes import check_value

    exported = torch.export.load(source)
    args, kwargs = exported.example_inputs
    ours_args, ours_kwargs = program.example_inputs
    pairs = zip(leaves((args, kwargs)), leaves((ours_args, ours_kwargs)), strict=True)
    for k, (expected, ours) in enumerate(pairs):
        check_value(ours, expected, f"{where}: input {k}")
    copies = [
        torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        for _ in range(2)
    ]
    expected = leaves(exported.module()(*copies[0][0], **copies[0][1]))
    found = leaves(program.module()(*copies[1][0], **copies[1][1]))
    for k, (want, got) in enumerate(zip(expected, found, strict=True)):
        want = want.detach() if isinstance(want, torch.Tensor) else want
        got = got.detach() if isinstance(got, torch.Tensor) else got
        check_value(got, want, f"{where}: output {k}")


def handles_of(program):
    """All nodes, those in branches and bodies too."""
    import torch

    graphs = [
        module.graph
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
    ]
    handles = {node.meta.get("debug_handle") for graph in graphs for node in graph.nodes}
    return handles - {None, 0}


def check_maps(record, methods, delegates):
    maps = (
        record._debug_handle_map,
        record._delegate_map,
        record._instruction_id_to_num_outs_map,
    )
    for values in maps:
        assert sorted(values) == sorted(methods), values
    for method, program in methods.items():
        known = handles_of(program)
        assert known, f"{method} has no handles"
        for instruction, handles in record._debug_handle_map[method].items():
            several = set(handles if isinstance(handles, list) else [handles])
            if delegates:  # a write-back of what a delegate computes has the handle of its call
                several = {handle for handle in several if handle <= max(known)}
            assert several <= known, f"{method}, instruction {instruction}: {several}"
        called = set(record._delegate_map[method])
        assert called == set(record._instruction_id_to_num_outs_map[method])
        assert called <= set(record._debug_handle_map[method])
        assert delegates or not called


def check_history(record):
    """Nodes of the edge program name those of the exported one.

    The official reader makes the nodes that stand for branches and bodies itself, without handles,
    and the official inspector then misses them.
    """
    from executorch.devtools.inspector._inspector_utils import propagate_back_debug_handle

    edge = record.edge_dialect_program
    if any(node.op == "get_attr" for node in edge.graph.nodes):
        return
    assert propagate_back_debug_handle(record.exported_program, record.export_graph_id, edge)


def judge_record(files, backend, folder):
    from executorch.devtools.etrecord import parse_etrecord

    record = parse_etrecord(str(lower_with_record(files, BACKENDS[backend], folder)))
    edge = record.edge_dialect_program
    programs = edge if isinstance(edge, dict) else {next(iter(files)): edge}
    assert sorted(programs) == sorted(files)
    check_maps(record, programs, backend != "portable")
    for method, program in programs.items():
        check_program(program, files[method], f"edge program of {method}")
    exported = record.exported_program
    if exported is not None:
        check_program(exported, files.get("forward") or next(iter(files.values())), "exported")
        if len(files) == 1:
            check_history(record)
    assert (exported is None) == (len(files) > 1 and "forward" not in files)
    for method, source in files.items():
        judge_one(parse_etrecord(str(folder / "each" / f"{method}.etrecord")), source)


def judge_one(record, source):
    """A record of one method, which the inspector takes for `forward`."""
    assert not isinstance(record.edge_dialect_program, dict)
    check_maps(record, {"forward": record.edge_dialect_program}, True)
    check_program(record.edge_dialect_program, source, "edge program of its own record")
    check_program(record.exported_program, source, "exported program of its own record")
    assert record._representative_inputs is not None
    check_history(record)


def judge_light(source, folder):
    from executorch.devtools.etrecord import parse_etrecord
    from runtimes import lower

    path = folder / "light.etrecord"
    lower([str(source), "--etrecord", path, "--etrecord-light"], folder / "light.pte")
    record = parse_etrecord(str(path))
    assert not record.exported_program.state_dict
    assert handles_of(record.edge_dialect_program)
    check_history(record)


def cases():
    for name, source in judged_models():
        for backend in BACKENDS:
            yield f"record of {name}, {backend}", judge_record, ({"forward": source}, backend)
    several = {m: MODELS / f"encdec.{m}.pt2" for m in ("encode", "decode", "forward")}
    both = {m: several[m] for m in ("encode", "decode")}
    for backend in BACKENDS:
        yield f"record of three methods, {backend}", judge_record, (several, backend)
        yield f"record of two methods, {backend}", judge_record, (both, backend)
        yield f"record of stories260k, {backend}", judge_record, (STORY, backend)
    yield "record without weights", judge_light, (MODELS / "cnn.pt2",)
