// Programs made up from bytes, mostly of what quantization has patterns for, quantized in any way:
// one configuration or several, with patterns that skip nodes, calibrated on any numbers, odd ones
// among them. A refusal must be a typed error. A quantized program must verify, and be lowered, for
// kernels and for XNNPACK, and run wherever the float program is and does; so must both side by
// side.
#include <float.h>

#include "api/compile/backends.h"
#include "api/compile/delegate.h"
#include "api/compile/evaluate.h"
#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "api/run/running.h"
#include "made.h"
#include "passes/passes.h"
#include "quant/compared.h"
#include "quant/quant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONFIGS_MAX = 3, SKIPS_MAX = 3, STATES_MAX = 256 };

// --- Values --------------------------------------------------------------------------------------

static void add_value(source *s, sc_value *value) {
    sc_value *traced = sc_graph_add_input(s->trace.graph, SC_STR("x"), SC_VALUE_TENSOR);
    traced->spec = value->spec;
    value->mark = s->count;
    s->traced[s->count] = sc_trace_fresh(&s->trace, traced);
    s->values[s->count++] = value;
}

static void make_odd(source *s, const sc_constant *constant) {
    static const float odd[] = {NAN, INFINITY, 3e38f, 1e-40f, -0.0f, 65520};
    const uint8_t how = next_byte(&s->in);
    float *numbers = NULL;
    if (how < 230 || constant->spec.dtype != SC_DTYPE_F32 || constant->data.size < sizeof(float))
        return;
    numbers = sc_arena_alloc(s->arena, constant->data.size);
    if (sc_extent_read(s->ctx, constant->data, 0, numbers, constant->data.size) != SC_OK) return;
    numbers[how % (constant->data.size / sizeof(float))] = odd[how % SC_COUNT_OF(odd)];
    ((sc_constant *)(uintptr_t)constant)->data =
        sc_extent_whole(sc_source_from_memory(s->arena, numbers, constant->data.size));
}

// A parameter of these sizes; seldom a user's input, a buffer, or of another dtype. NULL: no room.
static sc_value *parameter(source *s, const int64_t *sizes, uint32_t rank) {
    const uint8_t how = next_byte(&s->in);
    sc_input_sig sig = {.kind = how >= 250   ? SC_INPUT_USER
                                : how >= 240 ? SC_INPUT_BUFFER
                                             : SC_INPUT_PARAMETER};
    if (s->count >= VALUES_MAX - 4) return NULL;
    sc_spec spec = sc_spec_new(s->arena, how % 32 == 7 ? any_dtype(s) : SC_DTYPE_F32, rank);
    for (uint32_t d = 0; d < rank; d++) spec.sizes[d] = sc_dim_int(sizes[d]);
    set_layout(s, &spec, next_byte(&s->in));
    sc_value *value = sc_graph_add_input(s->method->graph, SC_STR("w"), SC_VALUE_TENSOR);
    value->spec = spec;
    if (sig.kind != SC_INPUT_USER) {
        sig.target = sc_name_str(value->name);
        sig.persistent = sig.kind == SC_INPUT_BUFFER;
        sig.constant = constant_for(s, value, sig.target);
        make_odd(s, sig.constant);
    }
    sc_vec_push(s->arena, &s->method->inputs, sig);
    add_value(s, value);
    return value;
}

static bool has_sizes(const sc_value *value, const int64_t *sizes, uint32_t rank) {
    if (value->spec.rank != rank || value->type != SC_VALUE_TENSOR) return false;
    for (uint32_t d = 0; d < rank; d++)
        if (!sc_dim_is(value->spec.sizes[d], sizes[d])) return false;
    return true;
}

// Weights are shared now and then, or computed.
static sc_arg weight(source *s, const int64_t *sizes, uint32_t rank) {
    const bool shares = next_byte(&s->in) % 4 == 0;
    for (uint32_t i = s->count; shares && i-- > 0;)
        if (has_sizes(s->values[i], sizes, rank)) return sc_arg_value(s->values[i]);
    sc_value *made = parameter(s, sizes, rank);
    return made ? sc_arg_value(made) : sc_arg_none();
}

static sc_value *any_value(source *s) {
    const uint8_t how = next_byte(&s->in);
    return s->values[how < 160 ? s->count - 1 : how % s->count];
}

static int64_t size_at(const sc_value *value, uint32_t dim) {
    if (dim >= value->spec.rank || !sc_dim_is_int(value->spec.sizes[dim])) return 2;
    return value->spec.sizes[dim].value;
}

// --- Layers --------------------------------------------------------------------------------------

static bool call_op(source *s, const sc_op *op, const sc_arg *given, uint32_t count) {
    sc_arg *args = sc_new_array(s->arena, sc_arg, op->schema->param_count + 1);
    for (uint32_t i = 0; i < op->schema->param_count; i++)
        args[i] = i < count ? given[i] : sc_arg_default(s->arena, &op->schema->params[i]);
    return call_with(s, op, args);
}

static bool call_args(source *s, sc_op_id id, const sc_arg *given, uint32_t count) {
    return call_op(s, sc_op_get(id), given, count);
}

// Now and then in place.
static bool call_either(source *s, sc_op_id id, const sc_arg *given, uint32_t count) {
    const sc_op *op = sc_op_get(id);
    return call_op(s, next_byte(&s->in) % 4 ? op : twin_of(s, op), given, count);
}

static sc_arg bias(source *s, int64_t outputs) {
    return next_byte(&s->in) % 3 ? weight(s, &outputs, 1) : sc_arg_none();
}

static bool linear(source *s) {
    sc_value *x = any_value(s);
    const int64_t sizes[] = {1 + next_byte(&s->in) % 4,
                             size_at(x, x->spec.rank ? x->spec.rank - 1u : 0)};
    const sc_arg w = weight(s, sizes, 2);
    const sc_arg args[] = {sc_arg_value(x), w, bias(s, sizes[0])};
    return call_args(s, SC_OP_linear, args, 3);
}

static bool convolve(source *s) {
    static const sc_op_id ids[2][3] = {
        {SC_OP_conv1d, SC_OP_conv2d, SC_OP_conv3d},
        {SC_OP_conv_transpose1d, SC_OP_conv_transpose2d_input, SC_OP_conv_transpose3d_input}};
    sc_value *x = any_value(s);
    const uint8_t how = next_byte(&s->in);
    const bool is_transposed = how % 4 == 0;
    const uint32_t rank = x->spec.rank < 3 ? 3 : sc_min_u32(x->spec.rank, 5);
    const int64_t inputs = size_at(x, 1), outputs = inputs * (1 + how / 4 % 2);
    const int64_t groups = how / 8 % 3 == 0 && inputs > 0 ? inputs : 1;
    int64_t sizes[5] = {outputs, inputs / (groups ? groups : 1), 1, 1, 1};
    if (is_transposed) {
        sizes[0] = inputs;
        sizes[1] = outputs / (groups ? groups : 1);
    }
    for (uint32_t d = 2; d < rank; d++) sizes[d] = 1 + (how >> d) % 2;
    const sc_arg w = weight(s, sizes, rank), b = bias(s, outputs);
    sc_arg args[8] = {sc_arg_value(x), w, b};
    const sc_op *op = sc_op_get(ids[is_transposed][rank - 3]);
    for (uint32_t i = 3; i < op->schema->param_count && i < SC_COUNT_OF(args); i++)
        args[i] = sc_arg_default(s->arena, &op->schema->params[i]);
    args[sc_op_param_index(op, "groups")] = sc_arg_int(groups);
    return call_args(s, op->id, args, op->schema->param_count);
}

static bool normalize(source *s) {
    sc_value *x = any_value(s);
    const int64_t channels = size_at(x, 1);
    sc_arg args[9] = {sc_arg_value(x)};
    for (uint32_t i = 1; i < 5; i++)
        args[i] = i < 3 && next_byte(&s->in) % 4 == 0 ? sc_arg_none() : weight(s, &channels, 1);
    args[5] = sc_arg_bool(next_byte(&s->in) > 250);
    args[6] = sc_arg_float(0.1);
    args[7] = sc_arg_float(next_byte(&s->in) > 240 ? real(s) : 1e-5);
    args[8] = sc_arg_bool(true);
    return call_args(s, SC_OP_batch_norm, args, 9);
}

// --- Everything else -----------------------------------------------------------------------------

static bool combine(source *s) {
    sc_value *a = any_value(s), *b = any_value(s);
    const uint8_t how = next_byte(&s->in);
    const sc_arg other = how % 4 == 0   ? sc_arg_float(real(s))
                         : how % 8 == 1 ? sc_arg_int(number(s))
                                        : sc_arg_value(how % 8 == 2 ? a : b);
    const sc_arg args[] = {sc_arg_value(a), other};
    return call_either(s, how / 8 % 2 ? SC_OP_add_Tensor : SC_OP_mul_Tensor, args, 2);
}

static bool join(source *s) {
    const uint32_t count = 1 + next_byte(&s->in) % 3;
    sc_arg *items = sc_new_array(s->arena, sc_arg, count);
    sc_value *first = any_value(s);
    for (uint32_t i = 0; i < count; i++) {
        sc_value *next = any_value(s);
        items[i] = sc_arg_value(next->spec.rank == first->spec.rank ? next : first);
    }
    const sc_arg args[] = {sc_arg_list(items, count), sc_arg_int(next_byte(&s->in) % 2)};
    return call_args(s, SC_OP_cat, args, 2);
}

// Operators of one tensor, and of numbers that are there already.
static bool change(source *s) {
    static const sc_op_id ids[] = {
        SC_OP_relu,        SC_OP_hardtanh, SC_OP_gelu, SC_OP_sigmoid,
        SC_OP_mean,        SC_OP_relu,     SC_OP_tanh, SC_OP_flatten_using_ints,
        SC_OP_slice_Tensor};
    const sc_arg x = sc_arg_value(any_value(s));
    return call_either(s, ids[next_byte(&s->in) % SC_COUNT_OF(ids)], &x, 1);
}

static bool move(source *s) {
    sc_value *x = any_value(s);
    const uint8_t how = next_byte(&s->in);
    const uint32_t rank = x->spec.rank;
    int64_t dims[SC_RANK_MAX] = {-1};
    sc_arg args[3] = {sc_arg_value(x)};
    for (uint32_t d = 0; d < rank && how % 6 != 1; d++) dims[d] = rank - 1 - d;
    switch (how % 6) {
    case 0:
        args[1] = sc_arg_ints(s->arena, dims, rank);
        return call_args(s, SC_OP_permute, args, 2);
    case 1:
        dims[1] = size_at(x, rank ? rank - 1u : 0);
        args[1] = sc_arg_ints(s->arena, dims, 2);
        return call_args(s, how / 6 % 2 ? SC_OP_view : SC_OP_reshape, args, 2);
    case 2:
        args[1] = sc_arg_ints(s->arena, dims, rank > 1);
        return call_args(s, SC_OP_mean_dim, args, 2);
    case 3:
        args[1] = sc_arg_ints(s->arena, (const int64_t[]){1, 2}, 2);
        return call_args(s, SC_OP_max_pool2d, args, 2);
    case 4:
        args[1] = sc_arg_ints(s->arena, (const int64_t[]){1, 2}, 2);
        return call_args(s, SC_OP_adaptive_avg_pool2d, args, 2);
    default: args[1] = sc_arg_int(how / 6 % 3); return call_args(s, SC_OP_squeeze_dim, args, 2);
    }
}

static bool any_call(source *s) {
    static bool (*const makers[])(source *) = {linear,    linear,  linear, convolve,
                                               convolve,  combine, change, join,
                                               normalize, move,    move,   change};
    const uint8_t how = next_byte(&s->in);
    if (s->count >= VALUES_MAX - 8) return false;
    return how >= 240 ? call(s) : makers[how % SC_COUNT_OF(makers)](s);
}

static void add_floats(source *s) {
    static const uint8_t ranks[] = {2, 4, 3, 2, 4, 1, 5, 0};
    const uint8_t how = next_byte(&s->in);
    const uint32_t rank = ranks[how % SC_COUNT_OF(ranks)];
    sc_value *value = sc_graph_add_input(s->method->graph, SC_STR("x"), SC_VALUE_TENSOR);
    value->spec = sc_spec_new(s->arena, how < 240 ? SC_DTYPE_F32 : SC_DTYPE_F16, rank);
    for (uint32_t d = 0; d < rank; d++) value->spec.sizes[d] = any_size(s);
    set_layout(s, &value->spec, next_byte(&s->in));
    sc_vec_push(s->arena, &s->method->inputs, ((sc_input_sig){.kind = SC_INPUT_USER}));
    s->values[s->count++] = value;
}

// --- Configurations ------------------------------------------------------------------------------

static sc_str any_pattern(source *s) {
    static const char *const texts[] = {"*",   "",    "linear", "aten::add*", "=y",
                                        "y_*", "**1", "conv2d", "w"};
    const uint8_t how = next_byte(&s->in);
    const sc_node *node = s->method->graph->first;
    if (how % 3 || !node) return sc_str_from(texts[how % SC_COUNT_OF(texts)]);
    for (uint32_t i = how / 3 % 8; i-- > 0 && node->next;) node = node->next;
    return sc_str_format(s->arena, "%s%s", how % 2 ? "=" : "", node->name->text);
}

static sc_quant_config any_config(source *s) {
    static const uint32_t sizes[] = {0, 0, 1, 2, 4, 3, 32, UINT32_MAX};
    const uint8_t how = next_byte(&s->in);
    sc_str *skip = sc_new_array(s->arena, sc_str, SKIPS_MAX);
    sc_quant_config config = {.mode = (sc_quant_mode)(how % 8 < 3 ? how % 2 : how % 5),
                              .per_channel = how & 64,
                              .weight_bits = how == 255 ? 5
                                             : how & 32 ? 4
                                                        : 8,
                              .group_size = sizes[next_byte(&s->in) % SC_COUNT_OF(sizes)],
                              .skip = skip};
    const uint8_t skips = next_byte(&s->in);
    config.skip_count = skips < 160 ? 0 : skips % SKIPS_MAX;
    for (uint32_t i = 0; i < config.skip_count; i++) skip[i] = any_pattern(s);
    return config;
}

// --- Running -------------------------------------------------------------------------------------

// Batches are odd by `odds` of 256.
static void fill_batch(source *s, void *data, sc_dtype dtype, uint64_t bytes, uint8_t how,
                       uint8_t odds) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e-42f};
    fill(s, data, dtype, bytes, how);
    if (dtype != SC_DTYPE_F32) return;
    if (how % 7 == 0) memset(data, 0, bytes);
    for (uint64_t i = 0; i < bytes / sizeof(float); i++)
        if (next_noise(&s->in) % 256 < odds)
            ((float *)data)[i] = odd[next_noise(&s->in) % SC_COUNT_OF(odd)];
}

static sc_status set_batch(source *s, const sc_method *of, sc_rt_method *method, uint8_t how,
                           uint8_t odds) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < of->inputs.count; i++) {
        const sc_spec *spec = &of->graph->inputs.data[i]->spec;
        int64_t sizes[SC_RANK_MAX];
        uint64_t bytes = sc_dtype_bytes((sc_dtype)spec->dtype);
        if (of->inputs.data[i].kind != SC_INPUT_USER) continue;
        for (uint32_t d = 0; d < spec->rank; d++) {
            sizes[d] = spec->sizes[d].expr ? 2 + how % 2 : spec->sizes[d].value;
            bytes *= (uint64_t)sizes[d];
        }
        void *data = sc_arena_alloc(s->arena, (size_t)bytes + 1);
        fill_batch(s, data, (sc_dtype)spec->dtype, bytes, (uint8_t)(how + i), odds);
        const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                                   .dtype = spec->dtype,
                                   .rank = spec->rank,
                                   .sizes = sizes,
                                   .data = data,
                                   .bytes = bytes};
        SC_TRY(sc_rt_method_set_input(s->ctx, method, at++, &input));
    }
    return SC_OK;
}

static sc_status delegate(source *s, sc_program *program, const sc_options *options) {
    const sc_json *json = NULL;
    sc_delegation delegation = {0};
    const sc_str all = SC_STR("{\"all\": [{\"backend\": \"xnnpack\"}]}");
    SC_TRY(sc_json_parse(s->ctx, s->arena, all, &json));
    return sc_delegate_program(s->ctx, NULL, program, json, options, &sc_all_backends, false,
                               &delegation);
}

static sc_status open(source *s, const sc_program *from, bool delegates, sc_rt_program **out) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.verify = true, .arena = s->arena, .env = {.options = &options}};
    sc_program *program;
    sc_executable made;
    sc_rt_options loading;
    sc_rt_options_default(&loading);
    loading.backends = &sc_all_rt_backends;
    SC_TRY(sc_program_clone(from, &program));
    SC_TRY(sc_pipeline_run(s->ctx, &pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(s->ctx, &pipeline, program, SC_STEP_to_edge));
    if (delegates) SC_TRY(delegate(s, program, &options));
    SC_TRY(sc_make_executable(s->ctx, &pipeline, program, &made));
    return sc_rt_program_open(s->ctx, sc_source_from_cord(s->arena, &made.result.program), &loading,
                              out);
}

// Some batches; the method stays open.
static sc_status run(source *s, const sc_program *program, bool delegates, uint8_t batches,
                     uint8_t odds, sc_rt_program **running, sc_rt_method **method) {
    SC_TRY(open(s, program, delegates, running));
    SC_TRY(sc_rt_method_load(s->ctx, *running, SC_STR("forward"), method));
    for (uint8_t i = 0; i < batches; i++) {
        SC_TRY(set_batch(s, s->method, *method, (uint8_t)(i * 3 + odds), odds));
        SC_TRY(sc_rt_method_run(s->ctx, *method));
    }
    return SC_OK;
}

static sc_status run_once(source *s, const sc_program *program, bool delegates) {
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    const sc_status status = run(s, program, delegates, 1, 0, &running, &method);
    if (running) sc_rt_program_close(running);
    return status;
}

// --- Quantizing ----------------------------------------------------------------------------------

static sc_status calibrate(source *s, const sc_quant_plan *plan, const float **states) {
    const uint32_t count = sc_quant_observer_count(plan);
    const uint8_t how = next_byte(&s->in);
    sc_program *observed = NULL;
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    if (count == 0) return SC_OK;
    SC_TRY(sc_quant_observed(s->ctx, plan, &observed));
    const sc_status status =
        run(s, observed, false, how % 4, how < 200 ? 0 : (uint8_t)(how - 200), &running, &method);
    for (uint32_t i = 0; status == SC_OK && i < count; i++) {
        const uint64_t floats = sc_quant_state_floats(plan, i);
        const uint32_t first = sc_rt_method_output_count(method) - count;
        float *state = sc_new_array(s->arena, float, floats + 1);
        memset(state, 0, floats * sizeof *state);
        if (how % 4)
            sc_rt_tensor_read(sc_rt_method_output(method, first + i)->tensor, state,
                              floats * sizeof *state);
        states[i] = state;
    }
    if (running) sc_rt_program_close(running);
    return status;
}

// Is it a reason for which quantizing may be refused?
static bool is_refusal(sc_status status) { return is_answer(status) || status == SC_ERR_STATE; }

static sc_status quantize(source *s, sc_program *program, const sc_quant_config *configs,
                          uint32_t count, sc_program **prepared) {
    static const float *states[STATES_MAX];
    sc_method *method = program->methods.data[0];
    sc_quant_plan *plan = NULL;
    SC_TRY(sc_quant_prepare(s->ctx, method, configs, count, &plan));
    EXPECT(sc_verify(s->ctx, program) == SC_OK);
    EXPECT(sc_quant_observer_count(plan) <= STATES_MAX);
    SC_TRY(calibrate(s, plan, states));
    SC_TRY(sc_quant_choose_scales(s->ctx, plan, states));
    SC_TRY(sc_program_clone(program, prepared));
    SC_TRY(sc_quant_convert(s->ctx, plan, next_byte(&s->in) % 4 ? &sc_own_evaluator : NULL));
    for (uint32_t i = 0; i < sc_quant_row_count(plan); i++) {
        const sc_quant_row *row = sc_quant_row_at(plan, i);
        EXPECT(row->is_quantized == (row->why_not.size == 0));
    }
    return SC_OK;
}

static void check_compared(source *s, const sc_program *prepared, const sc_program *quantized) {
    sc_program *both = NULL;
    sc_compared rows;
    EXPECT(sc_quant_compared(s->ctx, prepared->methods.data[0], quantized->methods.data[0], &both,
                             &rows) == SC_OK);
    // A value that nobody reads is compared, too, and may have no kernel.
    EXPECT(is_answer(run_once(s, both, false)));
}

static void use(source *s) {
    sc_quant_config configs[CONFIGS_MAX];
    sc_program *program = NULL, *prepared = NULL;
    s->op = NULL;
    EXPECT(sc_verify(s->ctx, s->program) == SC_OK);
    const uint32_t count = 1 + next_byte(&s->in) % CONFIGS_MAX;
    for (uint32_t i = 0; i < count; i++) configs[i] = any_config(s);
    if (run_once(s, s->program, false) != SC_OK) return;
    const bool delegates = run_once(s, s->program, true) == SC_OK;
    EXPECT(sc_program_clone(s->program, &program) == SC_OK);
    const uint32_t errors = s->ctx->error_count;
    const sc_status status = quantize(s, program, configs, count, &prepared);
    EXPECT((status == SC_OK) == (s->ctx->error_count == errors) && is_refusal(status));
    if (status != SC_OK) return;
    s->program = program;  // what a finding shows
    EXPECT(sc_verify(s->ctx, program) == SC_OK);
    // A layer on row-major numbers is one call, which takes no bias of another type; on others it
    // is a product and a sum, which does.
    const sc_status after = run_once(s, program, false);
    EXPECT(after == SC_OK || after == SC_ERR_DTYPE || after == SC_ERR_OPERATOR_MISSING);
    if (after != SC_OK) return;
    EXPECT(!delegates || run_once(s, program, true) == SC_OK);
    check_compared(s, prepared, program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source_memory memory;
    if (size < 8 || sc_ops_init() != SC_OK) return 0;
    source *s = source_open(&memory, data, size);
    const uint8_t inputs = next_byte(&s->in);
    add_floats(s);
    for (uint32_t i = 0; i < inputs % 3u; i++) inputs < 128 ? add_floats(s) : add_input(s);
    make_calls(s, any_call);
    use(s);
    source_close(&memory, s);
    return 0;
}
