// The values that a record's program computes. A stage is lowered for this build's own runtime,
// without delegates, and runs without rewriting on the record's inputs. Every value is kept under
// the debug handle of its node. The exported program has no handles, so nodes of the edge program
// tell which of its nodes they come from.
#include "api/inspect/reference.h"

#include "api/compile/evaluate.h"
#include "api/compile/executable.h"
#include "api/job/options.h"
#include "api/verify/examples.h"
#include "base/strides.h"
#include "passes/facts.h"
#include "rt/event.h"

// --- Values --------------------------------------------------------------------------------------

static const int64_t *row_major(sc_arena *arena, const int64_t *sizes, uint32_t rank) {
    int64_t *strides = sc_new_array(arena, int64_t, (size_t)rank + 1);
    (void)sc_strides_of(sizes, rank, NULL, strides);
    return strides;
}

static const int64_t *copy_sizes(sc_arena *arena, const int64_t *sizes, uint32_t rank) {
    int64_t *copy = sc_new_array(arena, int64_t, (size_t)rank + 1);
    if (rank) memcpy(copy, sizes, rank * sizeof *copy);
    return copy;
}

static sc_status numbers_of_tensor(sc_ctx *ctx, sc_arena *arena, const sc_tensor *t,
                                   sc_numbers_list *out) {
    const size_t bytes = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
    uint8_t *data = sc_arena_try_alloc(ctx->arena, bytes + 1);
    if (!data) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a value of the reference");
    sc_dump_tensor *tensor = sc_new(ctx->arena, sc_dump_tensor);
    sc_rt_tensor_read(t, data, bytes);
    *tensor = (sc_dump_tensor){.dtype = t->dtype,
                               .rank = t->rank,
                               .sizes = copy_sizes(ctx->arena, t->sizes, t->rank),
                               .numel = (uint64_t)t->numel};
    tensor->strides = row_major(ctx->arena, tensor->sizes, t->rank);
    if (bytes) tensor->data = sc_extent_whole(sc_source_from_memory(ctx->arena, data, bytes));
    const sc_dump_value value = {.kind = SC_DUMP_TENSOR, .tensors = tensor, .tensor_count = 1};
    const sc_status status = sc_numbers_of(ctx, arena, &value, out);
    sc_arena_release(ctx->arena, data);
    return status;
}

static sc_status numbers_of_scalar(sc_ctx *ctx, sc_arena *arena, const sc_evalue *v,
                                   sc_numbers_list *out) {
    sc_dump_value value = {.kind = SC_DUMP_NULL};
    if (v->tag == SC_EVALUE_INT) value = (sc_dump_value){.kind = SC_DUMP_INT, .i = v->i};
    if (v->tag == SC_EVALUE_BOOL) value = (sc_dump_value){.kind = SC_DUMP_BOOL, .i = v->b};
    if (v->tag == SC_EVALUE_DOUBLE) value = (sc_dump_value){.kind = SC_DUMP_DOUBLE, .d = v->d};
    return sc_numbers_of(ctx, arena, &value, out);
}

// Copies the elements to `arena`.
static sc_status add_numbers(sc_ctx *ctx, sc_arena *arena, const sc_evalue *v,
                             sc_numbers_vec *out) {
    sc_numbers_list one = {0};
    const bool is_list =
        v->tag == SC_EVALUE_TENSOR_LIST || v->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
    for (uint32_t i = 0; is_list && i < v->count; i++)
        if (v->tensors[i]) SC_TRY(add_numbers(ctx, arena, v->tensors[i], out));
    if (is_list) return SC_OK;
    SC_TRY(v->tag == SC_EVALUE_TENSOR ? numbers_of_tensor(ctx, arena, v->tensor, &one)
                                      : numbers_of_scalar(ctx, arena, v, &one));
    for (uint32_t i = 0; i < one.count; i++) sc_vec_push(ctx->arena, out, one.items[i]);
    return SC_OK;
}

// --- Listening -----------------------------------------------------------------------------------

// The last instruction of a handle that wrote a value.
typedef struct capture {
    int64_t handle;
    sc_numbers_vec values;
} capture;

// A node that lowering removes because it passes on its operand has that operand's value.
typedef struct handed_on {
    int64_t handle, source;
} handed_on;

typedef SC_VEC(handed_on) handed_list;

typedef struct listening {
    sc_rt_sink sink;
    sc_ctx *ctx;
    sc_arena *values;  // arena of the elements
    const sc_emit_plan *plan;
    const handed_list *handed;
    SC_VEC(capture) captures;
    sc_imap by_handle;  // place among the captures, plus 1
    int64_t handle;     // index of the current instruction
    bool is_first;      // index of its value
    sc_status status;
} listening;

static int64_t handle_of(const listening *l, const sc_rt_event *event) {
    const sc_rt_origin *last = &event->origins[event->origin_count - 1];
    if (last->chain != 0 || last->index >= l->plan->instruction_count) return 0;
    // Scaffolding has the handle of its loop, but its values are not the loop's.
    return l->plan->nodes[last->index] ? l->plan->debug_handles[last->index] : 0;
}

static void on_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    listening *l = sink->user;
    l->handle = event->kind == SC_RT_EVENT_INSTRUCTION ? handle_of(l, event) : 0;
    l->is_first = true;
}

static void on_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    listening *l = sink->user;
    if (event->kind != SC_RT_EVENT_INSTRUCTION || status != SC_OK) l->handle = 0;
}

static capture *capture_of(listening *l) {
    uint64_t *at = sc_imap_at(&l->by_handle, (uint64_t)l->handle);
    if (!*at) {
        sc_vec_push(l->ctx->arena, &l->captures, (capture){.handle = l->handle});
        *at = l->captures.count;
    }
    return &l->captures.data[*at - 1];
}

static void on_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    listening *l = sink->user;
    if (event->kind != SC_RT_EVENT_INSTRUCTION || !l->handle || l->status != SC_OK) return;
    capture *c = capture_of(l);
    if (l->is_first) c->values = (sc_numbers_vec){0};
    l->is_first = false;
    l->status = add_numbers(l->ctx, l->values, value, &c->values);
}

typedef struct handing_on {
    handed_list *list;
    sc_imap last;  // by handle: its last node
} handing_on;

static sc_status note_last(sc_ctx *ctx, sc_graph *graph, void *user) {
    handing_on *h = user;
    (void)ctx;
    for (sc_node *node = graph->first; node; node = node->next)
        if (node->meta.debug_handle)
            sc_imap_set(&h->last, node->meta.debug_handle, SC_PTR_KEY(node));
    return SC_OK;
}

static bool is_last(const handing_on *h, const sc_node *node) {
    const uint64_t *last =
        node->meta.debug_handle ? sc_imap_find(&h->last, node->meta.debug_handle) : NULL;
    return last && *last == SC_PTR_KEY(node);
}

static sc_status note_handed_on(sc_ctx *ctx, sc_graph *graph, void *user) {
    handing_on *h = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const bool hands_on = sc_op_has(node->op, SC_HANDS_ON) && node->out_count == 1 &&
                              node->arg_count > 0 && node->args[0].kind == SC_ARG_VALUE;
        const sc_node *source = hands_on ? node->args[0].value->node : NULL;
        if (!source || !is_last(h, node) || !is_last(h, source) ||
            !sc_spec_equal(&node->args[0].value->spec, &node->outs[0]->spec))
            continue;
        const handed_on one = {node->meta.debug_handle, source->meta.debug_handle};
        if (one.handle != one.source) sc_vec_push(ctx->arena, h->list, one);
    }
    return SC_OK;
}

static sc_status find_handed_on(sc_ctx *ctx, const sc_method *method, handed_list *out) {
    handing_on h = {.list = out};
    sc_imap_init(&h.last, ctx->arena);
    *out = (handed_list){0};
    SC_TRY(sc_graphs_visit(ctx, method->graph, note_last, &h));
    return sc_graphs_visit(ctx, method->graph, note_handed_on, &h);
}

// Goes in the order of the graph, so that chains of such nodes are resolved, too.
static void capture_handed_on(listening *l, const handed_list *handed) {
    for (uint32_t i = 0; i < handed->count; i++) {
        const handed_on *one = &handed->data[i];
        const uint64_t *source = sc_imap_find(&l->by_handle, (uint64_t)one->source);
        if (!source || sc_imap_find(&l->by_handle, (uint64_t)one->handle)) continue;
        const capture made = {one->handle, l->captures.data[*source - 1].values};
        sc_vec_push(l->ctx->arena, &l->captures, made);
        sc_imap_set(&l->by_handle, (uint64_t)one->handle, l->captures.count);
    }
}

static void keep_captures(listening *l, sc_reference *out) {
    sc_inspect_reference *rows =
        sc_new_array(l->ctx->arena, sc_inspect_reference, (size_t)l->captures.count + 1);
    for (uint32_t i = 0; i < l->captures.count; i++) {
        sc_numbers_list *list = sc_new(l->ctx->arena, sc_numbers_list);
        *list =
            (sc_numbers_list){l->captures.data[i].values.data, l->captures.data[i].values.count};
        rows[i] = (sc_inspect_reference){.handle = l->captures.data[i].handle, .values = list};
    }
    out->rows = rows;
    out->count = l->captures.count;
}

// --- Handles of the exported program -------------------------------------------------------------

typedef struct handing {
    sc_imap by_origin;  // nodes of the edge program, by interned name
    uint64_t given;
} handing;

static sc_status note_origins(sc_ctx *ctx, sc_graph *graph, void *user) {
    handing *h = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (node->meta.origin && node->meta.debug_handle)
            sc_imap_add(&h->by_origin, SC_PTR_KEY(node->meta.origin), node->meta.debug_handle);
    return SC_OK;
}

static sc_status give_handles(sc_ctx *ctx, sc_graph *graph, void *user) {
    handing *h = user;
    (void)ctx;
    for (sc_node *node = graph->first; node; node = node->next) {
        const uint64_t *handle = sc_imap_find(&h->by_origin, SC_PTR_KEY(node->meta.origin));
        node->meta.debug_handle = handle ? (uint32_t)*handle : 0;
        h->given += handle != NULL;
    }
    return SC_OK;
}

static sc_status hand_over(sc_ctx *ctx, const sc_method *edge, const sc_method *method) {
    handing h = {.given = 0};
    sc_imap_init(&h.by_origin, ctx->arena);
    SC_TRY(sc_graphs_visit(ctx, edge->graph, note_origins, &h));
    SC_TRY(sc_graphs_visit(ctx, method->graph, give_handles, &h));
    if (h.given) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, "Use the edge program as the reference.",
                   "the record's edge program does not say which nodes of the exported program its "
                   "nodes come from");
}

// --- Lowering ------------------------------------------------------------------------------------

// The properties of an edge program that emission needs. Most edge programs have the others, too,
// but not if a backend keeps operators whole. A file may also claim to be an edge program without
// being one.
#define EDGE_FACTS (SC_FACT_SPECS | SC_FACT_EDGE)

static sc_status lower_edge(sc_ctx *ctx, sc_pipeline *pipeline, const sc_method *method,
                            handed_list *handed, sc_executable *made) {
    sc_program *program;
    SC_TRY(sc_program_clone(method->program, &program));
    program->methods.data[0]->facts = EDGE_FACTS;
    if (sc_facts_verify(ctx, program->methods.data[0]) != SC_OK) return SC_ERR_UNSUPPORTED_OP;
    SC_TRY(find_handed_on(ctx, program->methods.data[0], handed));
    return sc_make_executable(ctx, pipeline, program, made);
}

// Done for edge programs, too: operators that were kept whole for a backend are expanded here, and
// the nodes of an expansion have the handle of the operator's node.
static sc_status lower_apart(sc_ctx *ctx, sc_pipeline *pipeline, const sc_method *method,
                             const sc_method *edge, handed_list *handed, sc_executable *made) {
    sc_program *program;
    SC_TRY(sc_program_clone(method->program, &program));
    program->methods.data[0]->facts = SC_FACT_SPECS;
    SC_TRY(sc_pipeline_run(ctx, pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(ctx, pipeline, program, SC_STEP_to_edge));
    SC_TRY(hand_over(ctx, edge, program->methods.data[0]));
    SC_TRY(find_handed_on(ctx, program->methods.data[0], handed));
    return sc_make_executable(ctx, pipeline, program, made);
}

static sc_status lower(sc_ctx *ctx, const sc_etrecord_program *stage, const sc_method *edge,
                       handed_list *handed, sc_executable *made) {
    sc_options options = sc_options_here();
    options.remove_view_copy = false;  // a value must have the shape of its node
    sc_pipeline pipeline = {.arena = ctx->arena,
                            .env = {.options = &options, .evaluator = &sc_own_evaluator}};
    const sc_diag_mark diags = sc_diags_mark(ctx);
    sc_status status = SC_ERR_UNSUPPORTED_OP;
    if (stage->is_edge) status = lower_edge(ctx, &pipeline, stage->method, handed, made);
    if (status != SC_ERR_UNSUPPORTED_OP) return status;
    sc_diags_rewind(ctx, diags);
    return lower_apart(ctx, &pipeline, stage->method, edge, handed, made);
}

// --- Running -------------------------------------------------------------------------------------

static sc_status set_inputs(sc_ctx *ctx, const sc_etrecord *record, const sc_method *source,
                            sc_rt_method *method, sc_reference *out) {
    const sc_pickle_value *examples;
    bool are_set = false;
    out->inputs = "representative";
    if (record->representative_inputs)
        SC_TRY(sc_set_values(ctx, record->representative_inputs, &method, 1, &are_set));
    if (are_set) return SC_OK;
    out->inputs = "example";
    SC_TRY(sc_etrecord_examples(ctx, source, &examples));
    if (examples) SC_TRY(sc_set_values(ctx, examples, &method, 1, &are_set));
    if (are_set) return SC_OK;
    return sc_fail(ctx, SC_ERR_INPUT, "Write the record with representative inputs of this method.",
                   "the record has no inputs that fit method '%s'", source->name->text);
}

static sc_status keep_outputs(sc_ctx *ctx, const sc_rt_method *method, sc_reference *out) {
    for (uint32_t i = 0; i < sc_rt_method_output_count(method); i++)
        SC_TRY(add_numbers(ctx, out->values, sc_rt_method_output(method, i), &out->outputs));
    return SC_OK;
}

static sc_status run(listening *l, sc_rt_program *program, const sc_etrecord *record,
                     const sc_method *source, sc_reference *out) {
    sc_rt_method *method;
    SC_TRY(sc_rt_method_load(l->ctx, program, sc_rt_program_method_name(program, 0), &method));
    SC_TRY(set_inputs(l->ctx, record, source, method, out));
    sc_rt_program_listen(program, &l->sink);
    SC_TRY(sc_rt_method_run(l->ctx, method));
    SC_TRY(l->status);
    capture_handed_on(l, l->handed);
    keep_captures(l, out);
    return keep_outputs(l->ctx, method, out);
}

sc_status sc_reference_run(sc_ctx *ctx, const sc_etrecord *record, const sc_etrecord_program *stage,
                           const sc_etrecord_program *edge, sc_reference *out) {
    sc_executable made;
    handed_list handed;
    sc_rt_program *program;
    sc_rt_options as_written;
    *out = (sc_reference){.values = out->values};
    if (!stage->has_weights)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Write the record with its weights.",
                       "the record has no weights (it was written with `light`), so no reference "
                       "can be computed");
    SC_TRY(lower(ctx, stage, edge->method, &handed, &made));
    sc_rt_options_default(&as_written);
    as_written.optimize = false;
    SC_TRY(sc_rt_program_open(ctx, sc_source_from_cord(ctx->arena, &made.result.program),
                              &as_written, &program));
    listening l = {
        .ctx = ctx, .values = out->values, .plan = &made.result.plans.data[0], .handed = &handed};
    l.sink = (sc_rt_sink){.begin = on_begin, .end = on_end, .output = on_output, .user = &l};
    sc_imap_init(&l.by_handle, ctx->arena);
    const sc_status status = run(&l, program, record, stage->method, out);
    sc_rt_program_close(program);
    return status;
}
