// A delegate on a graph that a test builds, value by value: started, called, and its results looked
// at. Arguments are inputs and then outputs, in the order in which they are added.
#ifndef XNNPACK_BENCH_H
#define XNNPACK_BENCH_H

#include "backends/xnnpack/run/delegate.h"
#include "setup.h"
#include "team.h"

extern const sc_rt_backend sc_rt_backend_xnnpack;

enum { ARGUMENTS_MAX = 6 };

typedef struct bench {
    setup s;
    sc_xnn_graph *graph;
    void *shared, *state;
    sc_rt_named named;  // nothing, unless a test has some
    sc_evalue values[ARGUMENTS_MAX];
    sc_evalue *args[ARGUMENTS_MAX];
    uint32_t inputs;
} bench;

static inline sc_status find_no_key(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes,
                                    uint64_t *size) {
    (void)user, (void)bytes, (void)size;
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "no data '" SC_STR_FMT "'", SC_STR_ARG(key));
}
static inline void release_no_key(void *user, sc_str key) { (void)user, (void)key; }

static inline void begin(bench *b) {
    *b = (bench){.named = {.find = find_no_key, .release = release_no_key}};
    setup_begin(&b->s);
    CHECK_OK(sc_ops_init());
    b->graph = sc_xnn_graph_new(&b->s.arena);
}

static inline void end(bench *b) {
    if (b->state) sc_rt_backend_xnnpack.destroy(b->state);
    if (b->shared) sc_rt_backend_xnnpack.release(b->shared);
    setup_end(&b->s);
}

static inline uint32_t add_value(bench *b, sc_xnn_datatype type, uint32_t rank,
                                 const uint32_t *dims) {
    sc_xnn_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return sc_xnn_add_value(b->graph, type, &shape);
}
#define DIMS(...) \
    SC_COUNT_OF(((uint32_t[]){__VA_ARGS__})), (uint32_t[]) { __VA_ARGS__ }

static inline sc_tensor *make_tensor(bench *b, unsigned dtype, const sc_xnn_shape *shape,
                                     const void *data) {
    sc_tensor *t = sc_new(&b->s.arena, sc_tensor);
    *t = (sc_tensor){.dtype = (uint8_t)dtype, .rank = (uint8_t)shape->rank, .numel = 1};
    t->sizes = sc_new_array(&b->s.arena, int64_t, SC_XNN_RANK_MAX);
    t->strides = sc_new_array(&b->s.arena, int64_t, SC_XNN_RANK_MAX);
    t->dim_order = sc_new_array(&b->s.arena, uint8_t, SC_XNN_RANK_MAX);
    t->is_dynamic = true;
    for (uint32_t d = t->rank; d-- > 0;) {
        t->sizes[d] = shape->dims[d];
        t->strides[d] = t->numel;
        t->dim_order[d] = (uint8_t)d;
        t->numel *= t->sizes[d];
    }
    t->capacity_bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)dtype);
    t->data = sc_arena_alloc(&b->s.arena, (size_t)t->capacity_bytes + 1);
    if (data) memcpy(t->data, data, (size_t)t->capacity_bytes);
    return t;
}

static inline uint32_t external(bench *b, uint32_t flag, sc_xnn_datatype type, uint32_t rank,
                                const uint32_t *dims, const void *data) {
    uint32_t id = add_value(b, type, rank, dims), argument = b->graph->external_count++;
    sc_xnn_value *value = &b->graph->values.data[id];
    value->flags = flag;
    value->external_id = argument;
    b->values[argument] =
        (sc_evalue){.tag = SC_EVALUE_TENSOR,
                    .tensor = make_tensor(b, sc_xnn_datatypes[type].dtype, &value->shape, data)};
    b->args[argument] = &b->values[argument];
    return id;
}
#define INPUT(b, type, data, ...)  external(b, SC_XNN_EXTERNAL_INPUT, type, DIMS(__VA_ARGS__), data)
#define OUTPUT(b, type, ...)       external(b, SC_XNN_EXTERNAL_OUTPUT, type, DIMS(__VA_ARGS__), 0)
#define INNER(b, type, ...)        add_value(b, type, DIMS(__VA_ARGS__))
#define WEIGHT(b, type, data, ...) constant(b, type, DIMS(__VA_ARGS__), data)

static inline uint32_t add_bytes(bench *b, const void *data, uint64_t size) {
    sc_xnn_constant constant = {.data = data, .size = size};
    sc_vec_push(&b->s.arena, &b->graph->constants, constant);
    return b->graph->constants.count - 1;
}

static inline uint32_t constant(bench *b, sc_xnn_datatype type, uint32_t rank, const uint32_t *dims,
                                const void *data) {
    uint32_t id = add_value(b, type, rank, dims);
    sc_xnn_value *value = &b->graph->values.data[id];
    uint64_t size;
    CHECK(sc_xnn_bytes(type, &value->shape, &size));
    value->constant = add_bytes(b, data, size);
    return id;
}

static inline sc_xnn_quant *quant_of(bench *b, uint32_t value) {
    return &b->graph->values.data[value].quant;
}
static inline void grid(bench *b, uint32_t value, float scale, int32_t zero) {
    *quant_of(b, value) =
        (sc_xnn_quant){.kind = SC_XNN_PER_TENSOR, .scale = scale, .zero_point = zero};
}
static inline void channels(bench *b, uint32_t value, uint32_t dim, const float *scales,
                            uint32_t count) {
    *quant_of(b, value) = (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL,
                                         .channel_dim = dim,
                                         .scales = add_bytes(b, scales, count * sizeof *scales),
                                         .scale_count = count};
}

static inline sc_xnn_node *node(bench *b, sc_xnn_kind kind, uint32_t x, uint32_t y, uint32_t z,
                                uint32_t out) {
    sc_xnn_node *n = sc_xnn_add_node(b->graph, kind);
    n->inputs[0] = x;
    n->inputs[1] = y;
    n->inputs[2] = z;
    n->outputs[0] = out;
    return n;
}
#define NONE SC_XNN_NONE

// Starts a delegate on a payload, which is borrowed.
static inline sc_status start_payload(bench *b, void **state, uint32_t arg_count,
                                      const uint8_t *bytes, uint64_t size) {
    sc_rt_start start = {.backend = &sc_rt_backend_xnnpack,
                         .method = SC_STR("forward"),
                         .processed = bytes,
                         .processed_bytes = size,
                         .named = b->named,
                         .args = b->args,
                         .arg_count = arg_count,
                         .shared = &b->shared};
    return sc_rt_backend_xnnpack.init(&b->s.ctx, &start, state, &b->inputs);
}

static inline sc_status write_payload(bench *b, const uint8_t **bytes, uint64_t *size) {
    sc_cord cord;
    sc_cord_init(&cord, &b->s.arena);
    SC_TRY(sc_xnn_write(&b->s.ctx, b->graph, &cord));
    *size = cord.size;
    return sc_cord_flatten(&b->s.ctx, &cord, &b->s.arena, 1 << 22, bytes);
}

static inline sc_status start(bench *b, void **state, uint32_t arg_count) {
    const uint8_t *bytes = NULL;
    uint64_t size;
    SC_TRY(write_payload(b, &bytes, &size));
    return start_payload(b, state, arg_count, bytes, size);
}

static inline sc_status execute(bench *b) {
    sc_rt_delegate_call call = {b->args, b->inputs, b->graph->external_count, NULL};
    return sc_rt_backend_xnnpack.execute(&b->s.ctx, b->state, &call);
}

static inline const sc_tensor *result(bench *b, uint32_t argument) {
    return b->values[argument].tensor;
}

// Executes again on threads, which must give the same bits.
static inline void execute_shared(bench *b) {
    const uint32_t count = b->graph->external_count;
    void *kept[ARGUMENTS_MAX];
    for (uint32_t i = b->inputs; i < count; i++) {
        const sc_tensor *t = result(b, i);
        kept[i] = test_alloc((size_t)t->capacity_bytes + 1);
        memcpy(kept[i], t->data, (size_t)t->capacity_bytes);
        memset(t->data, 0xab, (size_t)t->capacity_bytes);
    }
    team_open(3);
    team_share_all(true);
    CHECK_OK(execute(b));
    team_share_all(false);
    team_close();
    for (uint32_t i = b->inputs; i < count; i++) {
        const sc_tensor *t = result(b, i);
        CHECK_EQ_MEM(t->data, kept[i], (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype));
    }
}

static inline bool run(bench *b) {
    if (CHECK_OK(start(b, &b->state, b->graph->external_count)) && CHECK_OK(execute(b))) {
        execute_shared(b);
        return true;
    }
    FAIL("%s", setup_message(&b->s));
    return false;
}

static inline void check_floats(bench *b, uint32_t argument, const float *wanted, float tolerance) {
    const sc_tensor *t = result(b, argument);
    for (int64_t i = 0; i < t->numel; i++)
        CHECK_CLOSE(sc_tensor_real(t, i), (double)wanted[i], (double)tolerance);
}

static inline void check_bytes(bench *b, uint32_t argument, const int8_t *wanted) {
    const sc_tensor *t = result(b, argument);
    for (int64_t i = 0; i < t->numel; i++) CHECK_EQ_INT(((const int8_t *)t->data)[i], wanted[i]);
}

#endif
