// Any bytes as an XNNPACK payload: read, check, derive sizes, write, and read the same graph again;
// then run it as a delegate, on inputs of the largest sizes and on smaller ones. Work is bounded,
// so that a hostile graph is refused, not waited for. Half of the inputs are graphs in which fields
// were changed rather than bytes, so that what a FlatBuffer's verifier would refuse is rare.
#include "backends/xnnpack/graph.h"
#include "bytes.h"
#include "context.h"
#include "ops/op.h"
#include "rt/tell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static sc_str text_of(sc_arena *arena, const sc_xnn_graph *graph) {
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_xnn_print(&text, graph);
    return sc_sb_str(&text);
}

static void write_again(sc_ctx *ctx, const sc_xnn_graph *graph) {
    sc_cord cord;
    const uint8_t *bytes = NULL;
    sc_xnn_graph *again;
    sc_cord_init(&cord, ctx->arena);
    sc_status status = sc_xnn_write(ctx, graph, &cord);
    SC_ASSERT(status == SC_OK);
    status = sc_cord_flatten(ctx, &cord, ctx->arena, 1 << 30, &bytes);
    SC_ASSERT(status == SC_OK);
    status = sc_xnn_read(ctx, ctx->arena, bytes, cord.size, &again);
    SC_ASSERT(status == SC_OK);
    SC_ASSERT(sc_str_equal(text_of(ctx->arena, graph), text_of(ctx->arena, again)));
}

// Scales that the graph holds itself are written as named data only: such graphs are only read.
static bool can_be_written(const sc_xnn_graph *graph) {
    for (uint32_t i = 0; i < graph->values.count; i++)
        if (graph->values.data[i].quant.inline_scales) return false;
    return true;
}

// --- Running -------------------------------------------------------------------------------------

extern const sc_rt_backend sc_rt_backend_xnnpack;

enum { DATA_BYTES = 1 << 14 };
#define WORK_MAX 2e6

// Any name has the same bytes: small numbers, whatever they are read as.
static sc_status find_named(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes,
                            uint64_t *size) {
    static float numbers[DATA_BYTES / sizeof(float)];
    (void)user, (void)ctx, (void)key;
    for (size_t i = 0; i < SC_COUNT_OF(numbers); i++) numbers[i] = 0.01f * (float)(i % 7 + 1);
    *bytes = (const uint8_t *)numbers;
    *size = sizeof numbers;
    return SC_OK;
}

static void release_named(void *user, sc_str key) { (void)user, (void)key; }

// Elements that nodes make, by how many of their weights or of the elements of a window each takes.
static double work_of(sc_ctx *ctx, const sc_xnn_graph *graph) {
    double work = 0;
    sc_xnn_shape *shapes = sc_new_array(ctx->arena, sc_xnn_shape, (size_t)graph->values.count + 1);
    for (uint32_t i = 0; i < graph->values.count; i++) shapes[i] = graph->values.data[i].shape;
    if (sc_xnn_infer(ctx, graph, shapes) != SC_OK) return WORK_MAX;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const sc_xnn_node *node = &graph->nodes.data[i];
        uint64_t out = 0, in = 0;
        for (uint32_t k = 0; k < sc_xnn_kinds[node->kind].inputs; k++) {
            uint64_t count = 0;
            if (node->inputs[k] != SC_XNN_NONE && sc_xnn_numel(&shapes[node->inputs[k]], &count))
                in = sc_max_u64(in, count);
        }
        if (!sc_xnn_numel(&shapes[node->outputs[0]], &out)) return WORK_MAX;
        work += (double)out * (double)(in + 1);
    }
    return work;
}

typedef struct arguments {
    sc_evalue *values;
    sc_evalue **args;
    uint32_t count;
} arguments;

static void make_argument(sc_ctx *ctx, const sc_xnn_value *value, sc_evalue *out) {
    sc_tensor *t = sc_new(ctx->arena, sc_tensor);
    t->dtype = sc_xnn_datatypes[value->datatype].dtype;
    t->rank = (uint8_t)value->shape.rank;
    t->numel = 1;
    t->is_dynamic = true;
    t->sizes = sc_new_array(ctx->arena, int64_t, SC_XNN_RANK_MAX);
    t->strides = sc_new_array(ctx->arena, int64_t, SC_XNN_RANK_MAX);
    t->dim_order = sc_new_array(ctx->arena, uint8_t, SC_XNN_RANK_MAX);
    for (uint32_t d = t->rank; d-- > 0;) {
        t->sizes[d] = value->shape.dims[d];
        t->strides[d] = t->numel;
        t->dim_order[d] = (uint8_t)d;
        t->numel *= t->sizes[d];
    }
    *out = (sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = t};
}

// Arguments as the graph declares them; false when one is larger than is worth a run.
static bool make_arguments(sc_ctx *ctx, const sc_xnn_graph *graph, arguments *a) {
    a->count = graph->external_count;
    a->values = sc_new_array(ctx->arena, sc_evalue, (size_t)a->count + 1);
    a->args = sc_new_array(ctx->arena, sc_evalue *, (size_t)a->count + 1);
    for (uint32_t i = 0; i < a->count; i++) a->args[i] = &a->values[i];
    for (uint32_t i = 0; i < graph->values.count; i++) {
        const sc_xnn_value *value = &graph->values.data[i];
        uint64_t bytes;
        if (!sc_xnn_bytes(value->datatype, &value->shape, &bytes) || bytes > 1 << 20) return false;
        if (value->flags) make_argument(ctx, value, &a->values[value->external_id]);
    }
    return true;
}

static void give_memory(sc_ctx *ctx, const arguments *a) {
    for (uint32_t i = 0; i < a->count; i++) {
        sc_tensor *t = a->values[i].tensor;
        if (!t || t->data) continue;
        t->capacity_bytes = (uint64_t)t->numel * 4;
        t->data = sc_arena_alloc(ctx->arena, (size_t)t->capacity_bytes + 1);
    }
}

static void shrink(const arguments *a, uint32_t inputs) {
    for (uint32_t i = 0; i < inputs; i++) {
        sc_tensor *t = a->values[i].tensor;
        if (!t || !t->rank || t->sizes[0] < 2) continue;
        t->numel = t->numel / t->sizes[0] * (t->sizes[0] - 1);
        t->sizes[0]--;
    }
}

// Somebody who reads every value that is shown.
static void hear_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    SC_ASSERT(event->delegate_id.size > 0);
    (*(uint32_t *)sink->user)++;
}

static void hear_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    (void)event;
    (void)status;
    SC_ASSERT((*(uint32_t *)sink->user)-- == 1);
}

static void hear_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    const sc_tensor *t = value->tensor;
    const size_t bytes = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
    void *copy = sc_try_alloc(bytes + 1);
    (void)sink;
    (void)event;
    if (copy) sc_rt_tensor_read(t, copy, bytes);
    sc_free(copy);
}

static void run(sc_ctx *ctx, const sc_xnn_graph *graph, const uint8_t *data, size_t size) {
    arguments a;
    void *shared = NULL, *state;
    uint32_t inputs;
    if (sc_ops_init() != SC_OK || work_of(ctx, graph) >= WORK_MAX ||
        !make_arguments(ctx, graph, &a))
        return;
    sc_rt_start start = {.backend = &sc_rt_backend_xnnpack,
                         .method = SC_STR("forward"),
                         .processed = data,
                         .processed_bytes = size,
                         .named = {find_named, release_named, NULL, 0, NULL},
                         .args = a.args,
                         .arg_count = a.count,
                         .shared = &shared};
    if (sc_rt_backend_xnnpack.init(ctx, &start, &state, &inputs) == SC_OK) {
        uint32_t depth = 0;
        sc_rt_sink sink = {hear_begin, hear_end, hear_output, &depth};
        sc_rt_program program = {.sink = &sink};
        const sc_rt_method method = {.program = &program, .name = SC_STR("forward")};
        const sc_rt_hearing hearing = {&sink, &method, NULL};
        sc_rt_delegate_call call = {a.args, inputs, a.count, NULL};
        give_memory(ctx, &a);
        for (int i = 0; i < 3; i++) {
            call.hearing = i == 1 ? &hearing : NULL;
            sc_status status = sc_rt_backend_xnnpack.execute(ctx, state, &call);
            SC_ASSERT(status == SC_OK || ctx->error_count > 0);
            if (i != 0) shrink(&a, inputs);
        }
        sc_rt_backend_xnnpack.destroy(state);
    } else {
        SC_ASSERT(ctx->error_count > 0);
    }
    if (shared) sc_rt_backend_xnnpack.release(shared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_context c;
    sc_xnn_graph *graph;
    sc_ctx *ctx = fuzz_begin(&c, 16 << 20);
    if (sc_xnn_read(ctx, ctx->arena, data, size, &graph) == SC_OK) {
        sc_status status = sc_xnn_check(ctx, graph, SC_XNN_RUNTIME_LATEST);
        SC_ASSERT(status == SC_OK || ctx->error_count > 0);
        if (can_be_written(graph)) write_again(ctx, graph);
        if (status == SC_OK) run(ctx, graph, data, size);
    } else {
        SC_ASSERT(ctx->error_count > 0);
    }
    fuzz_end(&c);
    return 0;
}

// --- Graphs with other fields --------------------------------------------------------------------

enum { CHANGES_MAX = 4 };

static uint32_t below(byte_stream *b, uint32_t limit) { return limit ? next_noise(b) % limit : 0; }

// Small, close to what it was, at the ends of ranges, or anything.
static uint32_t other_number(byte_stream *b, uint32_t now) {
    static const uint32_t ends[] = {0,        1,          2,          31,       32,
                                    255,      256,        65535,      65536,    INT32_MAX,
                                    1u << 31, UINT32_MAX, 0xFFFFFFFE, 1u << 24, 46341};
    switch (below(b, 4)) {
    case 0: return below(b, 9);
    case 1: return now + below(b, 3) - 1;
    case 2: return ends[below(b, SC_COUNT_OF(ends))];
    default: return next_noise(b) << 8 | next_noise(b);
    }
}

static float other_float(byte_stream *b) {
    static const float floats[] = {0,      -0.0f,  1,     -1,    0.5f,   6,     127,  256,
                                   1e-39f, 1e-37f, 1e-9f, 3e38f, -3e38f, 1e10f, 0.1f, 1e-3f};
    const uint32_t at = below(b, SC_COUNT_OF(floats) + 3);
    if (at < SC_COUNT_OF(floats)) return floats[at];
    const float huge = 3e38f;
    return at == SC_COUNT_OF(floats)       ? huge * huge
           : at == SC_COUNT_OF(floats) + 1 ? -huge * huge
                                           : huge * huge - huge * huge;
}

static void change_quant(byte_stream *b, const sc_xnn_graph *g, sc_xnn_quant *quant) {
    switch (below(b, 7)) {
    case 0: quant->kind = (uint8_t)below(b, SC_XNN_PER_GROUP + 1); break;
    case 1: quant->scale = other_float(b); break;
    case 2: quant->zero_point = (int32_t)other_number(b, (uint32_t)quant->zero_point); break;
    case 3: quant->channel_dim = below(b, SC_XNN_RANK_MAX + 1); break;
    case 4: quant->scale_count = other_number(b, quant->scale_count); break;
    case 5: quant->scales = below(b, g->constants.count + 1); break;
    default: quant->group_size = quant->nonbatch_dims = other_number(b, quant->nonbatch_dims);
    }
}

static void change_value(byte_stream *b, sc_xnn_graph *g) {
    if (g->values.count == 0) return;
    sc_xnn_value *value = &g->values.data[below(b, g->values.count)];
    switch (below(b, 8)) {
    case 0: value->datatype = (uint8_t)below(b, SC_XNN_DATATYPE_COUNT); break;
    case 1: value->flags = below(b, 4); break;
    case 2: value->constant = below(b, g->constants.count + 1); break;
    case 3: value->external_id = other_number(b, value->external_id); break;
    case 4: value->shape.rank = below(b, SC_XNN_RANK_MAX + 1); break;
    case 5: change_quant(b, g, &value->quant); break;
    default: {
        uint32_t *dim = &value->shape.dims[below(b, SC_XNN_RANK_MAX)];
        *dim = other_number(b, *dim);
    }
    }
}

static void change_list(byte_stream *b, sc_xnn_graph *g, sc_xnn_list *list) {
    uint32_t *items = sc_new_array(g->arena, uint32_t, SC_XNN_RANK_MAX + 1);
    if (list->count) memcpy(items, list->items, sc_min_u32(list->count, SC_XNN_RANK_MAX) * 4);
    uint32_t *item = &items[below(b, SC_XNN_RANK_MAX)];
    *item = other_number(b, *item);
    if (below(b, 3) == 0) list->count = below(b, SC_XNN_RANK_MAX + 2);
    list->items = items;
}

static void change_node(byte_stream *b, sc_xnn_graph *g) {
    if (g->nodes.count == 0) return;
    sc_xnn_node *node = &g->nodes.data[below(b, g->nodes.count)];
    uint32_t *number = &node->numbers[below(b, SC_XNN_NUMBERS_MAX)];
    switch (below(b, 10)) {
    case 0: node->kind = (uint8_t)(1 + below(b, SC_XNN_KIND_COUNT - 1)); break;
    case 1: node->outputs[below(b, 2)] = below(b, g->values.count + 1); break;
    case 2: node->inputs[below(b, SC_XNN_INPUTS_MAX)] = SC_XNN_NONE; break;
    case 3:
    case 4: node->inputs[below(b, 3)] = below(b, g->values.count); break;
    case 5: node->flags = below(b, 2) ? 1u << below(b, 8) : 0; break;
    case 6: change_list(b, g, &node->lists[below(b, 2)]); break;
    case 7: node->value = other_float(b); break;
    case 8:
        node->has_range = below(b, 4) > 0;
        node->low = other_float(b);
        node->high = other_float(b);
        break;
    default: *number = other_number(b, *number);
    }
}

static void change_order(byte_stream *b, sc_xnn_graph *g) {
    if (g->nodes.count == 0) return;
    const uint32_t from = below(b, g->nodes.count), to = below(b, g->nodes.count);
    sc_xnn_node node = g->nodes.data[from];
    switch (below(b, 3)) {
    case 0: g->nodes.data[from] = g->nodes.data[to]; break;
    case 1: sc_vec_push(g->arena, &g->nodes, node); return;
    default: g->nodes.count--; return;
    }
    g->nodes.data[to] = node;
}

// Names in place of bytes, so that scales can be written, and the other way round.
static void change_constant(byte_stream *b, sc_xnn_graph *g) {
    if (g->constants.count < 2) return;
    sc_xnn_constant *constant = &g->constants.data[1 + below(b, g->constants.count - 1)];
    if (!constant->data || below(b, 2))
        *constant = (sc_xnn_constant){.key = SC_STR("named"), .size = constant->size};
    if (!constant->data && below(b, 2)) constant->size = DATA_BYTES;
}

static void change(byte_stream *b, sc_xnn_graph *g) {
    switch (below(b, 8)) {
    case 0:
    case 1:
    case 2: change_value(b, g); break;
    case 3:
    case 4:
    case 5: change_node(b, g); break;
    case 6: change_order(b, g); break;
    default: change_constant(b, g);
    }
}

// 0 when the bytes are no graph, or one that cannot be written here.
static size_t change_graph(sc_ctx *ctx, uint8_t *data, size_t size, size_t max_size,
                           byte_stream *b) {
    sc_xnn_graph *graph;
    sc_cord cord;
    const uint8_t *bytes;
    // The graph borrows what is about to be written over.
    const uint8_t *copy = (const uint8_t *)sc_str_dup(ctx->arena, (sc_str){(char *)data, size});
    if (sc_xnn_read(ctx, ctx->arena, copy, size, &graph) != SC_OK || !can_be_written(graph))
        return 0;
    for (uint32_t i = 1 + below(b, CHANGES_MAX); i > 0; i--) change(b, graph);
    sc_cord_init(&cord, ctx->arena);
    if (sc_xnn_write(ctx, graph, &cord) != SC_OK || cord.size > max_size ||
        sc_cord_flatten(ctx, &cord, ctx->arena, 1 << 30, &bytes) != SC_OK)
        return 0;
    memcpy(data, bytes, (size_t)cord.size);
    return (size_t)cord.size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    byte_stream b = {.random = seed};
    fuzz_context c;
    size_t made = 0;
    sc_ctx *ctx = fuzz_begin(&c, 16 << 20);
    if (below(&b, 2)) made = change_graph(ctx, data, size, max_size, &b);
    fuzz_end(&c);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}
