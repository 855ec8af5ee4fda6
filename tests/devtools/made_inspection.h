// Inspections of made-up dumps, and a method for them.
#ifndef MADE_INSPECTION_H
#define MADE_INSPECTION_H

#include "devtools/inspect/report.h"
#include "devtools/made_dump.h"

static const made_place OUTSIDE = {.chain = -1};

static inline made_place at(int32_t instruction) {
    return (made_place){.instruction = instruction};
}

// A kernel with its scopes, from `start` on.
static inline void add_kernel(made_dump *d, const char *name, int32_t instruction, uint64_t start,
                              uint64_t ticks) {
    made_profile(d, name, at(instruction), start + 1, start + 1 + ticks);
    made_profile(d, "OPERATOR_CALL", at(instruction), start, start + 2 + ticks);
}

static inline sc_inspection *inspect_with(setup *s, made_dump *d, sc_source *buffer,
                                          const sc_inspect_options *options) {
    sc_dump *dump;
    sc_inspection *in = NULL;
    CHECK_OK(sc_dump_read(&s->ctx, made_file(d, s, true), buffer, &dump));
    CHECK_OK(sc_inspect(&s->ctx, dump, options, &in));
    return in;
}

static inline sc_inspection *inspect_made(setup *s, made_dump *d, const sc_inspect_method *methods,
                                          uint32_t count) {
    const sc_inspect_options options = {.methods = methods, .method_count = count};
    return inspect_with(s, d, NULL, &options);
}

static inline const char *name_of(setup *s, sc_str name) { return sc_str_dup(&s->arena, name); }

static inline const sc_inspect_event *find(const sc_inspect_block *block, const char *name) {
    for (uint32_t i = 0; i < block->event_count; i++)
        if (sc_str_is(block->events[i].name, name)) return &block->events[i];
    return NULL;
}

// --- A method ------------------------------------------------------------------------------------

#define OP(text) \
    { text, sizeof(text) - 1 }

// forward: 0 and 1 are the same linear layer, 2 is a delegate of a mul and an add.
static const int64_t ONE[] = {1}, TWO[] = {2}, THREE[] = {3}, BOTH[] = {2, 3};
static const sc_inspect_delegate_id IDS[] = {
    {OP("fc_1"), {TWO, 1}}, {OP("fc_12"), {THREE, 1}}, {OP("7"), {BOTH, 2}}};
static const sc_inspect_module ROOT[] = {{OP(""), OP("M")}, {OP("fc"), OP("Linear")}};
static const sc_inspect_node NODES[] = {
    {.name = OP("permute"),
     .op = OP("aten.permute_copy.default"),
     .handle = 1,
     .modules = ROOT,
     .module_count = 2},
    {.name = OP("addmm"),
     .op = OP("aten.addmm.default"),
     .handle = 1,
     .modules = ROOT,
     .module_count = 2},
    {.name = OP("mul"),
     .op = OP("aten.mul.Tensor"),
     .handle = 2,
     .modules = ROOT,
     .module_count = 1},
    {.name = OP("add"),
     .op = OP("aten.add.Tensor"),
     .handle = 3,
     .modules = ROOT,
     .module_count = 1},
};
static const sc_inspect_instruction INSTRUCTIONS[] = {
    {.index = 0, .handles = {ONE, 1}},
    {.index = 1, .handles = {ONE, 1}},
    {.index = 2,
     .handles = {BOTH, 2},
     .out_count = 1,
     .is_delegate = true,
     .backend = OP("B"),
     .has_ids = true,
     .ids = IDS,
     .id_count = 3},
};

static inline sc_inspect_method forward(setup *s) {
    sc_inspect_method m = {.name = SC_STR("forward"),
                           .instructions = INSTRUCTIONS,
                           .instruction_count = 3,
                           .nodes = NODES,
                           .node_count = 4};
    sc_inspect_index_nodes(&s->arena, &m);
    return m;
}

static inline void add_forward(made_dump *d, uint64_t start) {
    add_kernel(d, "native_call_permute_copy.out", 0, start, 10);
    add_kernel(d, "native_call_addmm.out", 1, start + 20, 30);
    made_profile(d, NULL, (made_place){.instruction = 2, .id = "fc_12"}, start + 61, start + 65);
    made_profile(d, "DELEGATE_CALL", at(2), start + 60, start + 70);
    made_profile(d, "Method::execute", OUTSIDE, start, start + 80);
    made_run(d, "Execute", -1);
}

#endif
