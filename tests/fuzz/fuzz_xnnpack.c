// Any bytes as an XNNPACK payload: read, check, derive sizes, write, and read the same graph again;
// then run it as a delegate, on inputs of the largest sizes and on smaller ones. Work is bounded,
// so that a hostile graph is refused, not waited for.
#include "backends/xnnpack/graph.h"
#include "ops/op.h"
#include "rt/backend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
static double work_of(const sc_xnn_graph *graph) {
    double work = 0;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const sc_xnn_node *node = &graph->nodes.data[i];
        uint64_t out = 0, in = 0;
        for (uint32_t k = 0; k < sc_xnn_kinds[node->kind].inputs; k++) {
            uint64_t count = 0;
            if (node->inputs[k] != SC_XNN_NONE &&
                sc_xnn_numel(&graph->values.data[node->inputs[k]].shape, &count))
                in = sc_max_u64(in, count);
        }
        if (!sc_xnn_numel(&graph->values.data[node->outputs[0]].shape, &out)) return WORK_MAX;
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

static void run(sc_ctx *ctx, const sc_xnn_graph *graph, const uint8_t *data, size_t size) {
    arguments a;
    void *shared = NULL, *state;
    uint32_t inputs;
    if (sc_ops_init() != SC_OK || work_of(graph) >= WORK_MAX || !make_arguments(ctx, graph, &a))
        return;
    sc_rt_start start = {.backend = &sc_rt_backend_xnnpack,
                         .method = SC_STR("forward"),
                         .processed = data,
                         .processed_bytes = size,
                         .named = {find_named, release_named, NULL},
                         .args = a.args,
                         .arg_count = a.count,
                         .shared = &shared};
    if (sc_rt_backend_xnnpack.init(ctx, &start, &state, &inputs) == SC_OK) {
        sc_rt_delegate_call call = {a.args, inputs, a.count};
        give_memory(ctx, &a);
        for (int i = 0; i < 3; i++) {
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
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_xnn_graph *graph;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    ctx.limits.planned_bytes_max = 16 << 20;
    if (sc_xnn_read(&ctx, &arena, data, size, &graph) == SC_OK) {
        sc_status status = sc_xnn_check(&ctx, graph, SC_XNN_RUNTIME_LATEST);
        SC_ASSERT(status == SC_OK || ctx.error_count > 0);
        if (can_be_written(graph)) write_again(&ctx, graph);
        if (status == SC_OK) run(&ctx, graph, data, size);
    } else {
        SC_ASSERT(ctx.error_count > 0);
    }
    sc_arena_deinit(&scratch);
    sc_arena_deinit(&arena);
    return 0;
}
