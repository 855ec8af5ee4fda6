// Programs made up from bytes, lowered and run. A handful of inputs and states, then calls of any
// operators of the table on them (composites, views, in-place twins), recorded as torch.export
// would, with the results that the expansion gives. A refusal must be a typed error. A lowered
// program must load, and give the same bytes whichever algorithm planned its memory, whether
// constants were folded before, and whether a backend runs parts of it on the same kernels.
#include "api/compile/backends.h"
#include "api/compile/delegate.h"
#include "api/compile/dynamic_shapes.h"
#include "api/compile/evaluate.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "emit/emit.h"
#include "made.h"
#include "passes/passes.h"
#include "plan/place.h"
#include "rt/rt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// --- Lowering and running ------------------------------------------------------------------------

typedef struct lowered {
    const uint8_t *bytes;
    uint64_t size;
} lowered;

// Gives every symbol of the sizes the maximum that it has: the methods then have symbols of their
// own, and are what they were.
static sc_status renew_symbols(source *s, sc_program *program) {
    static const char *const names[] = {"s0", "s1"};
    sc_bound items[SC_COUNT_OF(names)];
    sc_bounds bounds = {items, 0};
    sc_exprs *exprs = s->method->exprs;
    for (uint32_t i = 0; i < sc_exprs_symbol_count(exprs); i++) {
        const sc_symbol *symbol = sc_exprs_symbol_at(exprs, i);
        for (size_t k = 0; k < SC_COUNT_OF(names); k++)
            if (sc_str_is(sc_name_str(symbol->name), names[k]))
                items[bounds.count++] = (sc_bound){sc_name_str(symbol->name), symbol->range.max};
    }
    return sc_bound_sizes(s->ctx, program, &bounds);
}

// Operators may be decomposed into random ones, which draw by their place in the file.
static void look_for_random(source *s, const sc_program *program) {
    for (const sc_node *node = program->methods.data[0]->graph->first; node; node = node->next)
        s->has_random |= sc_op_has(node->op, SC_RANDOM);
}

// A part for whatever can be one, and calls between them.
static sc_status delegate(source *s, sc_program *program, const sc_options *options) {
    const sc_json *json = NULL;
    sc_delegation delegation = {0};
    SC_TRY(sc_json_parse(s->ctx, s->arena, SC_STR("{\"all\": [{\"backend\": \"null\"}]}"), &json));
    return sc_delegate_program(s->ctx, NULL, program, json, options, &sc_all_backends, false,
                               &delegation);
}

typedef enum variety { PLAIN, RENEWED, FOLDED, DELEGATED } variety;

static sc_status lower(source *s, const char *algorithm, variety how, lowered *out) {
    sc_ctx *ctx = s->ctx;
    sc_program *program;
    sc_storage_table *tables;
    sc_place_report *reports;
    sc_emit_result result = {0};
    sc_options options = sc_options_default();
    options.memory_planning.all.name = sc_str_from(algorithm);
    options.fold_constants = how == FOLDED;
    sc_pipeline pipeline = {.verify = true,
                            .arena = s->arena,
                            .env = {.options = &options, .evaluator = &sc_own_evaluator}};
    SC_TRY(sc_program_clone(s->program, &program));
    if (how == RENEWED) SC_TRY(renew_symbols(s, program));
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, SC_STEP_to_edge));
    look_for_random(s, program);
    if (how == DELEGATED) SC_TRY(delegate(s, program, &options));
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, SC_STEP_to_executorch));
    SC_TRY(sc_place_program(ctx, program, &options, NULL, &tables, &reports));
    SC_TRY(sc_emit_program(ctx, program, tables, &options, &result));
    out->size = result.program.size;
    return sc_cord_flatten(ctx, &result.program, s->arena, 1 << 24, &out->bytes);
}

// With every symbol at that value.
static int64_t size_of(sc_dim dim, int64_t value) { return dim.expr ? value : dim.value; }

static void set_inputs(source *s, sc_rt_method *method, int64_t symbol, uint8_t how) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < s->method->inputs.count; i++) {
        const sc_spec *spec = &s->method->graph->inputs.data[i]->spec;
        int64_t sizes[SC_RANK_MAX];
        uint64_t bytes = sc_dtype_bytes((sc_dtype)spec->dtype);
        if (s->method->inputs.data[i].kind != SC_INPUT_USER) continue;
        for (uint32_t d = 0; d < spec->rank; d++) {
            sizes[d] = size_of(spec->sizes[d], symbol);
            bytes *= (uint64_t)sizes[d];
        }
        void *data = sc_arena_alloc(s->arena, (size_t)bytes + 1);
        fill(s, data, (sc_dtype)spec->dtype, bytes, (uint8_t)(how + i));
        sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                             .dtype = spec->dtype,
                             .rank = spec->rank,
                             .sizes = sizes,
                             .data = data,
                             .bytes = bytes};
        EXPECT(sc_rt_method_set_input(s->ctx, method, at++, &input) == SC_OK);
    }
    EXPECT(at == sc_rt_method_input_count(method));
}

// The sign of NaN is not defined.
static bool is_nan(const uint8_t *bytes, sc_dtype dtype) {
    uint64_t bits = 0;
    memcpy(&bits, bytes, sc_dtype_bytes(dtype));
    switch (dtype) {
    case SC_DTYPE_F64: return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    case SC_DTYPE_F32: return (bits & INT32_MAX) > 0x7f800000;
    case SC_DTYPE_F16: return (bits & INT16_MAX) > 0x7c00;
    case SC_DTYPE_BF16: return (bits & INT16_MAX) > 0x7f80;
    default: return false;
    }
}

static bool same_numbers(const uint8_t *x, const uint8_t *y, sc_dtype dtype, uint64_t bytes) {
    const uint32_t width = sc_dtype_bytes(dtype);
    for (uint64_t at = 0; at < bytes; at += width)
        if (memcmp(x + at, y + at, width) != 0 && !(is_nan(x + at, dtype) && is_nan(y + at, dtype)))
            return false;
    return true;
}

static void check_same_tensor(source *s, const sc_tensor *a, const sc_tensor *b) {
    uint64_t bytes = sc_dtype_bytes((sc_dtype)a->dtype) * (uint64_t)a->numel;
    EXPECT(a->dtype == b->dtype && a->rank == b->rank && a->numel == b->numel);
    for (uint32_t d = 0; d < a->rank; d++) EXPECT(a->sizes[d] == b->sizes[d]);
    void *x = sc_arena_alloc(s->arena, (size_t)bytes + 1);
    void *y = sc_arena_alloc(s->arena, (size_t)bytes + 1);
    sc_rt_tensor_read(a, x, (size_t)bytes);
    sc_rt_tensor_read(b, y, (size_t)bytes);
    EXPECT(same_numbers(x, y, (sc_dtype)a->dtype, bytes));
}

static void run_both(source *s, sc_rt_method *const *methods) {
    uint8_t how = next_byte(&s->in);
    for (int64_t symbol = 3; symbol >= 2; symbol--) {
        sc_status status[2];
        for (int i = 0; i < 2; i++) {
            set_inputs(s, methods[i], symbol, how);
            status[i] = sc_rt_method_run(s->ctx, methods[i]);
            // Export would have kept sizes from which the number of results depends in range.
            EXPECT(is_answer(status[i]) || (symbol != 3 && status[i] == SC_ERR_CORRUPT));
        }
        // A part may have come to stand before what else fails.
        EXPECT((status[0] == SC_OK) == (status[1] == SC_OK));
        if (status[0] != SC_OK) return;
        for (uint32_t i = 0; i < sc_rt_method_output_count(methods[0]) && !s->has_random; i++) {
            const sc_evalue *a = sc_rt_method_output(methods[0], i);
            const sc_evalue *b = sc_rt_method_output(methods[1], i);
            EXPECT(a->tag == b->tag);
            if (a->tag == SC_EVALUE_TENSOR) check_same_tensor(s, a->tensor, b->tensor);
        }
    }
}

// As written, two programs compute the same; rewritten at load, within rounding.
static void run(source *s, const lowered *files, bool optimize) {
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.optimize = optimize;
    options.channels_last = SC_RT_ALWAYS;
    options.backends = &sc_all_rt_backends;
    sc_rt_program *programs[2] = {NULL, NULL};
    sc_rt_method *methods[2] = {NULL, NULL};
    sc_status status = SC_OK;
    for (int i = 0; i < 2 && status == SC_OK; i++) {
        sc_source *file = sc_source_from_memory(s->arena, files[i].bytes, files[i].size);
        EXPECT(sc_rt_program_open(s->ctx, file, &options, &programs[i]) == SC_OK);
        status = sc_rt_method_load(s->ctx, programs[i], SC_STR("forward"), &methods[i]);
    }
    if (status == SC_OK)
        run_both(s, methods);
    else
        EXPECT(is_answer(status));
    for (int i = 0; i < 2; i++)
        if (programs[i]) sc_rt_program_close(programs[i]);
}

// Which symbol an expansion invents for a size that values decide is recorded by torch only where
// the operator is its own expansion.
static bool has_unbacked(const source *s) {
    for (uint32_t i = 0; i < sc_exprs_symbol_count(s->method->exprs); i++)
        if (sc_symbol_is_unbacked(sc_exprs_symbol_at(s->method->exprs, i))) return true;
    return false;
}

static void use(source *s) {
    s->op = NULL;
    lowered files[2] = {{NULL, 0}, {NULL, 0}};
    EXPECT(sc_verify(s->ctx, s->program) == SC_OK);
    uint32_t errors = s->ctx->error_count;
    sc_status status = lower(s, "best", PLAIN, &files[0]);
    EXPECT((status == SC_OK) == (s->ctx->error_count == errors));
    EXPECT(is_answer(status) || (status == SC_ERR_MISMATCH && has_unbacked(s)));
    if (status != SC_OK) return;
    EXPECT(lower(s, "naive", RENEWED, &files[1]) == SC_OK);
    run(s, files, true);
    EXPECT(lower(s, "greedy", FOLDED, &files[1]) == SC_OK);
    run(s, files, false);
    EXPECT(lower(s, "best", DELEGATED, &files[1]) == SC_OK);
    run(s, files, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source_memory memory;
    if (size < 8 || sc_ops_init() != SC_OK) return 0;
    source *s = source_open(&memory, data, size);
    const uint32_t inputs = 1 + next_byte(&s->in) % INPUTS_MAX;
    for (uint32_t i = 0; i < inputs; i++) add_input(s);
    make_calls(s, call);
    use(s);
    source_close(&memory, s);
    return 0;
}
