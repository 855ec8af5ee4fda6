// XNNPACK payloads as bytes, as structures and as text: official ones are what their expected files
// say, survive being written again, and everything that is wrong with one is refused by name.
#include "backends/xnnpack/graph.h"
#include "setup.h"

#define FOLDER "data/xnnpack"

static sc_str text_of(setup *s, const sc_xnn_graph *graph) {
    sc_sb text;
    sc_sb_init(&text, &s->arena);
    sc_xnn_print(&text, graph);
    return sc_sb_str(&text);
}

static const uint8_t *bytes_of(setup *s, const sc_xnn_graph *graph, uint64_t *size) {
    sc_cord cord;
    const uint8_t *bytes = NULL;
    sc_cord_init(&cord, &s->arena);
    CHECK_OK(sc_xnn_write(&s->ctx, graph, &cord));
    CHECK_OK(sc_cord_flatten(&s->ctx, &cord, &s->arena, 1 << 20, &bytes));
    *size = cord.size;
    return bytes;
}

TEST_CASES(xnnpack_payloads_of_official_files) {
    size_t count;
    const char **paths = test_list(FOLDER, ".payload", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", paths[i])) continue;
        setup s;
        setup_begin(&s);
        size_t size;
        const uint8_t *data = (const uint8_t *)test_read(paths[i], &size);
        sc_xnn_graph *graph, *again;
        uint64_t again_size = 0;
        CHECK_OK(sc_xnn_read(&s.ctx, &s.arena, data, size, &graph));
        CHECK_OK(sc_xnn_check(&s.ctx, graph, SC_XNN_RUNTIME_LATEST));
        sc_str text = text_of(&s, graph);
        size_t stem = strlen(paths[i]) - strlen(".payload");
        CHECK_GOLDEN(test_format("%.*s.txt", (int)stem, paths[i]), text.data, text.size);
        const uint8_t *written = bytes_of(&s, graph, &again_size);
        CHECK_OK(sc_xnn_read(&s.ctx, &s.arena, written, again_size, &again));
        CHECK(sc_str_equal(text_of(&s, again), text));
        setup_end(&s);
    }
}

// --- A small graph -------------------------------------------------------------------------------

// x0 [1, 8, 8, 4] -> convolution with x1 and x2 -> x3, + x4 -> x5, reshaped -> x6, 8 bits -> x7.
enum { IN, FILTER, BIAS, CONVOLVED, ADDEND, SUM, FLAT, SMALL };
enum { CONV, ADD, RESHAPE, CONVERT };

typedef struct built {
    sc_xnn_graph *graph;
    uint32_t shape[2];
    uint8_t bytes[4 * 3 * 3 * 6 * 4];
} built;

static uint32_t value_of(sc_xnn_graph *graph, sc_xnn_datatype type, uint32_t rank,
                         const uint32_t *dims) {
    sc_xnn_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return sc_xnn_add_value(graph, type, &shape);
}
#define VALUE(graph, type, ...)                                                 \
    value_of(graph, type, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
             (uint32_t[]){__VA_ARGS__})

static void make_external(sc_xnn_graph *graph, uint32_t value, uint32_t flag) {
    graph->values.data[value].flags = flag;
    graph->values.data[value].external_id = graph->external_count++;
}

static void make_constant(sc_xnn_graph *graph, uint32_t value, const uint8_t *data) {
    sc_xnn_value *v = &graph->values.data[value];
    sc_xnn_constant constant = {.data = data};
    CHECK(sc_xnn_bytes(v->datatype, &v->shape, &constant.size));
    v->constant = graph->constants.count;
    sc_vec_push(graph->arena, &graph->constants, constant);
}

static sc_xnn_node *add_node(sc_xnn_graph *graph, sc_xnn_kind kind, uint32_t a, uint32_t b,
                             uint32_t out) {
    sc_xnn_node *node = sc_xnn_add_node(graph, kind);
    node->inputs[0] = a;
    node->inputs[1] = b;
    node->outputs[0] = out;
    return node;
}

static void build(setup *s, built *b) {
    sc_xnn_graph *g = b->graph = sc_xnn_graph_new(&s->arena);
    memset(b->bytes, 0, sizeof b->bytes);
    VALUE(g, SC_XNN_FP32, 1, 8, 8, 4);
    VALUE(g, SC_XNN_FP32, 6, 3, 3, 4);
    VALUE(g, SC_XNN_FP32, 6);
    VALUE(g, SC_XNN_FP32, 1, 4, 4, 6);
    VALUE(g, SC_XNN_FP32, 1);
    VALUE(g, SC_XNN_FP32, 1, 4, 4, 6);
    VALUE(g, SC_XNN_FP32, 16, 6);
    VALUE(g, SC_XNN_QINT8, 16, 6);
    make_external(g, IN, SC_XNN_EXTERNAL_INPUT);
    make_external(g, ADDEND, SC_XNN_EXTERNAL_INPUT);
    make_external(g, SMALL, SC_XNN_EXTERNAL_OUTPUT);
    make_constant(g, FILTER, b->bytes);
    make_constant(g, BIAS, b->bytes);
    g->values.data[SMALL].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_TENSOR, .scale = 0.5f, .zero_point = -3};
    sc_xnn_node *conv = add_node(g, SC_XNN_CONV, IN, FILTER, CONVOLVED);
    conv->inputs[2] = BIAS;
    conv->window = (sc_xnn_window){1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 4, 6, 1, 0, 0};
    conv->has_range = true;
    conv->high = 6;
    add_node(g, SC_XNN_ADD, CONVOLVED, ADDEND, SUM);
    sc_xnn_node *reshape = add_node(g, SC_XNN_RESHAPE, SUM, SC_XNN_NONE, FLAT);
    b->shape[0] = 0;
    b->shape[1] = 6;
    reshape->lists[0] = (sc_xnn_list){b->shape, 2};
    add_node(g, SC_XNN_CONVERT, FLAT, SC_XNN_NONE, SMALL);
}

TEST(xnnpack_graph_is_written_and_read) {
    setup s;
    setup_begin(&s);
    built b;
    build(&s, &b);
    uint64_t size;
    const uint8_t *bytes = bytes_of(&s, b.graph, &size);
    sc_xnn_graph *again;
    CHECK_OK(sc_xnn_check(&s.ctx, b.graph, SC_XNN_RUNTIME_1_0));
    REQUIRE_OK(sc_xnn_read(&s.ctx, &s.arena, bytes, size, &again));
    CHECK(sc_str_equal(text_of(&s, again), text_of(&s, b.graph)));
    CHECK_EQ_MEM(bytes + 4, "XH00", 4);
    CHECK_EQ_INT(bytes[8], 30);
    CHECK_EQ_INT(bytes[10], 32);
    CHECK_EQ_MEM(bytes + 36, "XN01", 4);
    CHECK_EQ_UINT(size % 16, b.graph->constants.data[2].size % 16);
    // Without a header the constants are out of reach; those of the runtime's schema are read.
    CHECK_STATUS(sc_xnn_read(&s.ctx, &s.arena, bytes + 32, size - 32, &again), SC_ERR_CORRUPT);
    CHECK_EQ_STR(setup_message(&s),
                 "an XNNPACK payload is damaged: constant 1 leaves the payload's constants");
    uint8_t *old = sc_arena_alloc(&s.arena, size);
    memcpy(old, bytes, size);
    memcpy(old + 36, "XN00", 4);
    CHECK_OK(sc_xnn_read(&s.ctx, &s.arena, old, size, &again));
    setup_end(&s);
}

// --- Refusals while reading ----------------------------------------------------------------------

// The small graph with something wrong, and what is said of it.
typedef struct refusal {
    const char *name;
    void (*make)(built *b);
    sc_status status;
    const char *message;
} refusal;

static void check_refused(setup *s, const refusal *wanted, sc_status status) {
    CHECK_STATUS(status, wanted->status);
    if (!strstr(setup_message(s), wanted->message)) CHECK_EQ_STR(setup_message(s), wanted->message);
}

static void break_constant(built *b) { b->graph->values.data[FILTER].constant = 7; }
static void break_size(built *b) { b->graph->constants.data[1].size = 12; }
static void break_rank(built *b) { b->graph->values.data[IN].shape.rank = 7; }
static void break_dims(built *b) { memset(b->graph->values.data[CONVOLVED].shape.dims, 0xff, 16); }
static void break_datatype(built *b) { b->graph->values.data[IN].datatype = 60; }
static void break_flags(built *b) { b->graph->values.data[IN].flags = 4; }
static void break_both(built *b) { b->graph->values.data[IN].flags = 3; }
static void break_argument(built *b) { b->graph->values.data[IN].external_id = 3; }
static void break_arguments(built *b) { b->graph->values.data[IN].external_id = 1; }
static void break_externals(built *b) { b->graph->external_count = 5000; }
static void break_constant_argument(built *b) {
    b->graph->values.data[FILTER].flags = SC_XNN_EXTERNAL_INPUT;
}
static void break_input(built *b) { b->graph->nodes.data[ADD].inputs[0] = 99; }
static void break_missing(built *b) { b->graph->nodes.data[ADD].inputs[0] = SC_XNN_NONE; }
static void break_order(built *b) { b->graph->nodes.data[ADD].inputs[0] = FLAT; }
static void break_cycle(built *b) { b->graph->nodes.data[ADD].inputs[0] = SUM; }
static void break_twice(built *b) { b->graph->nodes.data[RESHAPE].outputs[0] = SUM; }
static void break_list(built *b) { b->graph->nodes.data[RESHAPE].lists[0].count = 100; }
static void break_output(built *b) { b->graph->nodes.count--; }
static void break_channel(built *b) {
    b->graph->values.data[FILTER].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL, .channel_dim = 4};
}
static void break_scales(built *b) {
    b->graph->values.data[FILTER].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL, .scales = 2, .scale_count = 7};
}
static void break_scale_count(built *b) {
    b->graph->values.data[FILTER].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL, .scales = 2, .scale_count = 5};
}
static void break_group(built *b) {
    b->graph->values.data[BIAS].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_GROUP, .scales = 2, .scale_count = 6, .group_size = 0};
}
static void break_old_group(built *b) {
    b->graph->values.data[BIAS].quant = (sc_xnn_quant){.kind = SC_XNN_PER_GROUP, .group_size = 1};
}

static const refusal damages[] = {
    {"constant", break_constant, SC_ERR_CORRUPT, "value 1 has its elements in constant 7 of 3"},
    {"size", break_size, SC_ERR_CORRUPT,
     "the elements of value 1 need 864 bytes, constant 1 has 12"},
    {"rank", break_rank, SC_ERR_CORRUPT, "value 0 has 7 dimensions; the most is 6"},
    {"dims", break_dims, SC_ERR_CORRUPT, "the sizes of value 3 are too large"},
    {"datatype", break_datatype, SC_ERR_DELEGATE,
     "value 0 of an XNNPACK payload has the unknown datatype 60"},
    {"flags", break_flags, SC_ERR_CORRUPT, "value 0 has unknown flags 0x4"},
    {"both", break_both, SC_ERR_CORRUPT, "value 0 is an input and an output"},
    {"argument", break_argument, SC_ERR_CORRUPT, "value 0 is argument 3 of 3"},
    {"arguments", break_arguments, SC_ERR_CORRUPT, "two values are argument 1"},
    {"externals", break_externals, SC_ERR_LIMIT, "has 5000 arguments"},
    {"constant argument", break_constant_argument, SC_ERR_CORRUPT,
     "value 1 is a constant and an argument"},
    {"input", break_input, SC_ERR_CORRUPT, "node 1 names value 99, which does not exist"},
    {"missing", break_missing, SC_ERR_CORRUPT, "node 1 names value 4294967295"},
    {"order", break_order, SC_ERR_CORRUPT, "node 1 reads value 6 before anything makes it"},
    {"cycle", break_cycle, SC_ERR_CORRUPT, "node 1 reads value 5 before anything makes it"},
    {"twice", break_twice, SC_ERR_CORRUPT, "node 2 makes value 5, which is made already"},
    {"list", break_list, SC_ERR_CORRUPT, "node 2 has a list of 100 sizes"},
    {"output", break_output, SC_ERR_CORRUPT, "no node makes value 7, which is an output"},
    {"channel", break_channel, SC_ERR_CORRUPT, "value 1 is quantized along dimension 4 of 4"},
    {"scales", break_scales, SC_ERR_CORRUPT,
     "the scales of value 1 need 28 bytes, constant 2 has 24"},
    {"scale count", break_scale_count, SC_ERR_CORRUPT,
     "value 1 has 5 scales, but its sizes need 6"},
    {"group", break_group, SC_ERR_CORRUPT, "value 2 is quantized in groups and not a matrix"},
    {"old group", break_old_group, SC_ERR_DELEGATE, "the scales of its groups in the graph"},
};

TEST_CASES(xnnpack_payloads_that_are_damaged) {
    static uint32_t numbers[100];
    for (size_t i = 0; i < SC_COUNT_OF(damages); i++) {
        if (!test_case("%s", damages[i].name)) continue;
        setup s;
        setup_begin(&s);
        built b;
        build(&s, &b);
        damages[i].make(&b);
        b.graph->nodes.data[RESHAPE].lists[0].items = numbers;
        uint64_t size;
        const uint8_t *bytes = bytes_of(&s, b.graph, &size);
        sc_xnn_graph *graph;
        check_refused(&s, &damages[i], sc_xnn_read(&s.ctx, &s.arena, bytes, size, &graph));
        setup_end(&s);
    }
}

TEST(xnnpack_headers_that_are_damaged) {
    static const struct {
        uint8_t at, byte;
        sc_status status;
        const char *message;
    } edits[] = {
        {13, 0x7f, SC_ERR_CORRUPT, "its graph leaves"},
        {17, 0x7f, SC_ERR_CORRUPT, "its graph leaves"},
        {21, 0x7f, SC_ERR_CORRUPT, "its constants leave"},
        {29, 0xff, SC_ERR_CORRUPT, "its constants leave"},
        {18, 0, SC_ERR_CORRUPT, "its constants overlap its graph"},
        {36, 'Y', SC_ERR_FORMAT, "known format"},
        {39, '7', SC_ERR_VERSION, "known format"},
    };
    setup s;
    setup_begin(&s);
    built b;
    build(&s, &b);
    uint64_t size;
    const uint8_t *bytes = bytes_of(&s, b.graph, &size);
    sc_xnn_graph *graph;
    for (size_t i = 0; i < SC_COUNT_OF(edits); i++) {
        uint8_t *copy = sc_arena_alloc(&s.arena, size);
        memcpy(copy, bytes, size);
        copy[edits[i].at] = edits[i].byte;
        if (edits[i].at == 18) copy[19] = 0;
        CHECK_STATUS(sc_xnn_read(&s.ctx, &s.arena, copy, size, &graph), edits[i].status);
        if (!strstr(setup_message(&s), edits[i].message))
            CHECK_EQ_STR(setup_message(&s), edits[i].message);
    }
    for (uint64_t cut = 0; cut < size - 4; cut += cut < 64 ? 1 : 37)
        CHECK(sc_xnn_read(&s.ctx, &s.arena, bytes, cut, &graph) != SC_OK);
    setup_end(&s);
}

// --- Refusals of XNNPACK itself ------------------------------------------------------------------

static sc_xnn_window *window(built *b) { return &b->graph->nodes.data[CONV].window; }

static void rule_kind(built *b) { b->graph->nodes.data[CONVERT].kind = SC_XNN_COS; }
static void rule_attention(built *b) { b->graph->nodes.data[CONVERT].kind = SC_XNN_ATTENTION; }
static void rule_types(built *b) { b->graph->nodes.data[CONVERT].kind = SC_XNN_ABS; }
static void rule_bf16(built *b) { b->graph->values.data[ADDEND].datatype = SC_XNN_BF16; }
static void rule_flags(built *b) { b->graph->nodes.data[CONV].flags = 4; }
static void rule_stride(built *b) { window(b)->stride_width = 0; }
static void rule_groups(built *b) { window(b)->groups = 0x80000000u; }
static void rule_filter(built *b) { window(b)->kernel_height = 2; }
static void rule_bias(built *b) { b->graph->values.data[BIAS].shape.dims[0] = 5; }
static void rule_static(built *b) { b->graph->values.data[FILTER].constant = 0; }
static void rule_channels(built *b) { b->graph->values.data[IN].shape.dims[3] = 5; }
static void rule_range(built *b) { b->graph->nodes.data[CONV].low = 7; }
static void rule_nan(built *b) { b->graph->nodes.data[CONV].low = (float)__builtin_nan(""); }
static void rule_open(built *b) { b->shape[1] = 0; }
static void rule_numel(built *b) { b->shape[1] = 7; }
static void rule_perm(built *b) {
    b->graph->nodes.data[RESHAPE].kind = SC_XNN_TRANSPOSE;
    b->shape[0] = b->shape[1] = 1;
}
static void rule_open_slice(built *b) {
    b->graph->nodes.data[RESHAPE].kind = SC_XNN_SLICE;
    b->graph->nodes.data[RESHAPE].lists[1] = b->graph->nodes.data[RESHAPE].lists[0];
}
static void rule_slice(built *b) {
    static uint32_t zeros[SC_XNN_RANK_MAX];
    rule_open_slice(b);
    b->graph->nodes.data[RESHAPE].lists[1].items = zeros;
    b->shape[0] = 1;
}
static void rule_lists(built *b) { b->graph->nodes.data[RESHAPE].kind = SC_XNN_PAD; }
static void rule_zero_point(built *b) { b->graph->values.data[SMALL].quant.zero_point = 128; }
static void rule_scale(built *b) { b->graph->values.data[SMALL].quant.scale = -1; }
static void rule_quant(built *b) {
    b->graph->values.data[SMALL].quant = (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN};
}
static void rule_token(built *b) {
    b->graph->values.data[SMALL].datatype = SC_XNN_QDINT8;
    b->graph->values.data[SMALL].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = 3};
}
static void rule_pool(built *b) {
    b->graph->nodes.data[CONV].kind = SC_XNN_MAX_POOL;
    window(b)->kernel_height = window(b)->kernel_width = 1;
}
static void rule_pool_stride(built *b) {
    b->graph->nodes.data[CONV].kind = SC_XNN_MAX_POOL;
    window(b)->stride_width = 4;
}
static void rule_window(built *b) { b->graph->values.data[IN].shape.dims[1] = 0; }
static void rule_broadcast(built *b) { b->graph->values.data[ADDEND].shape.dims[0] = 4; }
static void rule_depthwise(built *b) { b->graph->nodes.data[CONV].kind = SC_XNN_DEPTHWISE_CONV; }
static void rule_copy(built *b) {
    b->graph->nodes.data[RESHAPE].kind = SC_XNN_COPY;
    b->graph->values.data[FLAT].datatype = b->graph->values.data[SUM].datatype = SC_XNN_QINT8;
    b->graph->values.data[FLAT].quant = b->graph->values.data[SUM].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_TENSOR, .scale = 1};
    b->graph->values.data[FLAT].quant.scale = 2;
    b->graph->nodes.data[ADD] = b->graph->nodes.data[RESHAPE];
}

static void rule_padding(built *b) {
    b->graph->nodes.data[CONV].kind = SC_XNN_MAX_POOL;
    window(b)->padding_bottom = 3;
}
static void rule_adjustment(built *b) {
    b->graph->nodes.data[CONV].kind = SC_XNN_CONV_TRANSPOSE;
    window(b)->adjustment_width = 2;
}
static void quantize(built *b, uint32_t value, sc_xnn_datatype datatype, float scale) {
    b->graph->values.data[value].datatype = (uint8_t)datatype;
    b->graph->values.data[value].quant = (sc_xnn_quant){.kind = SC_XNN_PER_TENSOR, .scale = scale};
}
static void rule_requantization(built *b) {
    quantize(b, IN, SC_XNN_QINT8, 2);
    quantize(b, FILTER, SC_XNN_QINT8, 64);
    quantize(b, BIAS, SC_XNN_QINT32, 128);
    quantize(b, CONVOLVED, SC_XNN_QINT8, 0.5f);
}
// Between bytes, as the second node.
static void between_bytes(built *b, sc_xnn_kind kind, float from, float to) {
    quantize(b, SUM, SC_XNN_QINT8, from);
    quantize(b, FLAT, SC_XNN_QINT8, to);
    b->graph->nodes.data[RESHAPE].kind = kind;
    b->graph->nodes.data[ADD] = b->graph->nodes.data[RESHAPE];
}
static void rule_convert(built *b) { between_bytes(b, SC_XNN_CONVERT, 129, 1); }
static void rule_clamp(built *b) { between_bytes(b, SC_XNN_CLAMP, 1, 2); }
static void rule_slope(built *b) {
    b->graph->nodes.data[RESHAPE].value = 300;
    between_bytes(b, SC_XNN_LEAKY_RELU, 1, 1);
}
static void rule_sum(built *b) {
    b->graph->nodes.data[RESHAPE].inputs[1] = SUM;
    between_bytes(b, SC_XNN_SUBTRACT, 1, 2048);
}
// A product of rows of 4 with weights whose scales are all one.
static void weigh(built *b, sc_xnn_datatype datatype, uint32_t inputs) {
    static const float ones[] = {1, 1, 1, 1, 1, 1};
    sc_xnn_value *filter = &b->graph->values.data[FILTER];
    sc_xnn_node *node = &b->graph->nodes.data[CONV];
    node->kind = SC_XNN_FULLY_CONNECTED;
    node->inputs[2] = SC_XNN_NONE;
    b->graph->constants.data[2].data = (const uint8_t *)ones;
    b->graph->values.data[IN].shape.dims[3] = inputs;
    filter->datatype = (uint8_t)datatype;
    filter->shape = (sc_xnn_shape){2, {6, inputs}};
    filter->quant = (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL, .scales = 2, .scale_count = 6};
}
static void rule_weight_bias(built *b) {
    weigh(b, SC_XNN_QCINT8, 4);
    b->graph->nodes.data[CONV].inputs[2] = BIAS;
}
static void rule_half_bytes(built *b) {
    weigh(b, SC_XNN_QCINT4, 3);
    b->graph->values.data[IN].datatype = SC_XNN_QDINT8;
    b->graph->values.data[IN].quant = (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = 1};
}
static void rule_nibbles(built *b) {
    weigh(b, SC_XNN_QCINT4, 4);
    b->graph->nodes.data[CONV].flags = SC_XNN_TRANSPOSE_WEIGHTS;
}
static void rule_group_scales(built *b) {
    weigh(b, SC_XNN_QBINT4, 32);
    b->graph->constants.data[2].data = b->bytes;
    b->graph->values.data[FILTER].quant =
        (sc_xnn_quant){.kind = SC_XNN_PER_GROUP, .scales = 2, .scale_count = 6, .group_size = 32};
}

static const refusal rules[] = {
    {"kind", rule_kind, SC_ERR_DELEGATE,
     "node 3 (Cos) of an XNNPACK graph has a kind that runtimes before 1.1 lack"},
    {"attention", rule_attention, SC_ERR_DELEGATE, "has a kind that no runtime executes"},
    {"types", rule_types, SC_ERR_DELEGATE, "has no variant from fp32 to qint8"},
    {"bf16", rule_bf16, SC_ERR_DELEGATE, "a bf16 operand, which runtimes before 1.5 lack"},
    {"flags", rule_flags, SC_ERR_DELEGATE, "has the flags 0x4, which are not supported"},
    {"stride", rule_stride, SC_ERR_DELEGATE, "has parameters that are zero or out of range"},
    {"groups", rule_groups, SC_ERR_DELEGATE, "has parameters that are zero or out of range"},
    {"filter", rule_filter, SC_ERR_DELEGATE,
     "cannot use value 1, fp32[...]: its sizes are not those that the parameters ask for"},
    {"bias", rule_bias, SC_ERR_DELEGATE, "a bias has one element for each output channel"},
    {"static", rule_static, SC_ERR_DELEGATE, "weights must be constants"},
    {"channels", rule_channels, SC_ERR_SHAPE, "has an input without the channels that it is for"},
    {"range", rule_range, SC_ERR_DELEGATE, "has an output range from 7 to 6"},
    {"nan", rule_nan, SC_ERR_DELEGATE, "has an output range from nan to 6"},
    {"open", rule_open, SC_ERR_DELEGATE, "leaves more than one size to be derived"},
    {"numel", rule_numel, SC_ERR_SHAPE, "cannot spread its elements over the other dimensions"},
    {"perm", rule_perm, SC_ERR_DELEGATE, "has a list of dimensions that is not a permutation"},
    {"slice", rule_slice, SC_ERR_DELEGATE, "slices no elements"},
    {"open slice", rule_open_slice, SC_ERR_DELEGATE, "which runtimes before 1.5 cannot"},
    {"lists", rule_lists, SC_ERR_DELEGATE, "has lists of different lengths"},
    {"zero point", rule_zero_point, SC_ERR_DELEGATE, "its zero point is out of range"},
    {"scale", rule_scale, SC_ERR_DELEGATE, "a scale is not a normal number above zero"},
    {"quant", rule_quant, SC_ERR_DELEGATE, "its quantization is not of the kind"},
    {"token", rule_token, SC_ERR_DELEGATE, "quantized over dimensions that it does not have"},
    {"pool", rule_pool, SC_ERR_DELEGATE, "pools single elements"},
    {"pool stride", rule_pool_stride, SC_ERR_DELEGATE, "a stride that is larger than its window"},
    {"window", rule_window, SC_ERR_SHAPE, "a window that is larger than the padded input"},
    {"broadcast", rule_broadcast, SC_ERR_SHAPE,
     "has operands that do not broadcast: it reads [1, 4, 4, 6], [4]"},
    {"depthwise", rule_depthwise, SC_ERR_DELEGATE, "more than one input channel in a group"},
    {"copy", rule_copy, SC_ERR_DELEGATE, "quantized in different ways"},
    {"padding", rule_padding, SC_ERR_DELEGATE, "pools windows of padding alone"},
    {"adjustment", rule_adjustment, SC_ERR_DELEGATE, "has an output padding of a whole stride"},
    {"requantization", rule_requantization, SC_ERR_DELEGATE,
     "cannot use value 3, qint8[...]: its scale is too small for its operands"},
    {"convert", rule_convert, SC_ERR_DELEGATE, "node 1 (Convert) of an XNNPACK graph has operands"},
    {"clamp", rule_clamp, SC_ERR_DELEGATE, "node 1 (Clamp) of an XNNPACK graph moves values"},
    {"slope", rule_slope, SC_ERR_DELEGATE, "scales differ too much from the 1 of its result"},
    {"sum", rule_sum, SC_ERR_DELEGATE, "scales differ too much from the 2048 of its result"},
    {"weight bias", rule_weight_bias, SC_ERR_DELEGATE, "a bias is not scaled with the weights"},
    {"half bytes", rule_half_bytes, SC_ERR_DELEGATE, "rows of 4 bits do not end on whole bytes"},
    {"nibbles", rule_nibbles, SC_ERR_DELEGATE, "weights of 4 bits cannot be transposed"},
    {"group scales", rule_group_scales, SC_ERR_DELEGATE,
     "cannot use value 1, qbint4[...]: a scale is not a normal number above zero"},
};

TEST_CASES(xnnpack_rules) {
    for (size_t i = 0; i < SC_COUNT_OF(rules); i++) {
        if (!test_case("%s", rules[i].name)) continue;
        setup s;
        setup_begin(&s);
        built b;
        build(&s, &b);
        rules[i].make(&b);
        sc_xnn_runtime runtime =
            rules[i].make == rule_copy ? SC_XNN_RUNTIME_LATEST : SC_XNN_RUNTIME_1_0;
        check_refused(&s, &rules[i], sc_xnn_check(&s.ctx, b.graph, runtime));
        setup_end(&s);
    }
}

// The releases that lowering may be asked for are those that the rules know.
TEST(xnnpack_runtimes_are_those_of_the_option) {
    static const struct {
        const char *name, *kind;
    } options[] = {
#define OPTION(call, name, kind, ...) {#name, #kind},
#include "core/options.def"
#undef OPTION
    };
    const char *asked_for = NULL;
    sc_sb words;
    setup s;
    setup_begin(&s);
    sc_sb_init(&words, &s.arena);
    sc_sb_addf(&words, "CHOICE(\"");
    for (uint32_t i = 0; i < SC_XNN_RUNTIME_COUNT; i++)
        sc_sb_addf(&words, "%s%s", i ? " " : "", sc_xnn_runtimes[i]);
    sc_sb_addf(&words, "\")");
    for (size_t i = 0; i < SC_COUNT_OF(options); i++)
        if (strcmp(options[i].name, "target_runtime") == 0) asked_for = options[i].kind;
    REQUIRE(asked_for);
    CHECK_EQ_STR(asked_for, sc_sb_terminate(&words));
    setup_end(&s);
}

// Sizes follow the inputs, not what values declare.
TEST(xnnpack_sizes_follow_the_inputs) {
    setup s;
    setup_begin(&s);
    built b;
    build(&s, &b);
    sc_xnn_shape shapes[SMALL + 1];
    for (uint32_t i = 0; i <= SMALL; i++) shapes[i] = b.graph->values.data[i].shape;
    shapes[IN] = (sc_xnn_shape){4, {2, 5, 7, 4}};
    REQUIRE_OK(sc_xnn_infer(&s.ctx, b.graph, shapes));
    sc_xnn_shape convolved = {4, {2, 3, 4, 6}}, flat = {2, {24, 6}};
    CHECK(sc_xnn_shape_is(&shapes[SUM], &convolved));
    CHECK(sc_xnn_shape_is(&shapes[SMALL], &flat));
    setup_end(&s);
}
