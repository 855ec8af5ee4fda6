// Shared by the tests of quantization: programs that are calibrated and quantized.
#include "quant/calibrate.h"

#include <math.h>
#include <string.h>

#include "api/compile/backends.h"
#include "api/compile/delegate.h"
#include "api/compile/evaluate.h"
#include "api/compile/executable.h"
#include "api/job/options.h"
#include "api/run/backends.h"
#include "pt2/import.h"

enum { BATCHES = 3 };

// As make_quant_cases.py does: from -2 to 2.
static double number(uint64_t index, uint64_t seed) {
    uint64_t bits = ((index + seed * 7919 + 1) * 2654435761u) & 0xFFFFFFFFu;
    bits ^= bits >> 15;
    bits = (bits * 2246822519u) & 0xFFFFFFFFu;
    return (double)(bits >> 8) / 4194304.0 - 2;
}

static void put_number(uint8_t *at, sc_dtype dtype, double x, double below) {
    const float f = (float)x;
    const int64_t i = (int64_t)floor((x + 2) / 4 * below);
    const uint16_t half = dtype == SC_DTYPE_F16 ? sc_f32_to_f16(f) : sc_f32_to_bf16(f);
    const bool b = x > 0;
    switch (dtype) {
    case SC_DTYPE_F32: memcpy(at, &f, sizeof(f)); break;
    case SC_DTYPE_F64: memcpy(at, &x, sizeof(x)); break;
    case SC_DTYPE_F16:
    case SC_DTYPE_BF16: memcpy(at, &half, sizeof(half)); break;
    case SC_DTYPE_BOOL: memcpy(at, &b, 1); break;
    default: memcpy(at, &i, sc_dtype_bytes(dtype) < 8 ? sc_dtype_bytes(dtype) : 8); break;
    }
}

sc_status quant_set_inputs(setup *s, const sc_method *of, sc_rt_method *method, uint64_t batch,
                           double below) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < of->inputs.count; i++) {
        const sc_value *value = of->graph->inputs.data[i];
        if (of->inputs.data[i].kind != SC_INPUT_USER) continue;
        int64_t sizes[SC_RANK_MAX];
        uint64_t count = 1;
        for (uint32_t d = 0; d < value->spec.rank; d++) {
            const sc_dim dim = value->spec.sizes[d];
            sizes[d] = sc_dim_is_int(dim) ? dim.value : 2;
            count *= (uint64_t)sizes[d];
        }
        const uint32_t bytes = sc_dtype_bytes((sc_dtype)value->spec.dtype);
        uint8_t *data = sc_arena_alloc(&s->arena, count * bytes + 1);
        for (uint64_t k = 0; k < count; k++)
            put_number(data + k * bytes, (sc_dtype)value->spec.dtype, number(k, batch * 16 + next),
                       below);
        const sc_rt_input input = {.tag = SC_EVALUE_TENSOR,
                                   .dtype = value->spec.dtype,
                                   .rank = value->spec.rank,
                                   .sizes = sizes,
                                   .data = data,
                                   .bytes = count * bytes};
        SC_TRY(sc_rt_method_set_input(&s->ctx, method, next++, &input));
    }
    return SC_OK;
}

static sc_status delegate(setup *s, sc_program *program, const char *backend,
                          const sc_options *options) {
    const sc_json *partitioners = NULL;
    sc_delegation delegation = {0};
    const sc_str json = sc_str_format(&s->arena, "{\"all\": [{\"backend\": \"%s\"}]}", backend);
    SC_TRY(sc_json_parse(&s->ctx, &s->arena, json, &partitioners));
    return sc_delegate_program(&s->ctx, NULL, program, partitioners, options, &sc_all_backends,
                               false, &delegation);
}

// Lowered to the kernels, or to a backend as far as it takes the program.
sc_status quant_open(setup *s, sc_program *program, const char *backend, sc_rt_program **out) {
    const sc_options options = sc_options_here();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_executable made;
    sc_rt_options loading;
    sc_rt_options_default(&loading);
    loading.backends = &sc_all_rt_backends;
    SC_TRY(sc_pipeline_run(&s->ctx, &pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(&s->ctx, &pipeline, program, SC_STEP_to_edge));
    if (backend) SC_TRY(delegate(s, program, backend, &options));
    SC_TRY(sc_make_executable(&s->ctx, &pipeline, program, &made));
    return sc_rt_program_open(&s->ctx, sc_source_from_cord(&s->arena, &made.result.program),
                              &loading, out);
}

static sc_status keep_states(setup *s, const sc_quant_plan *plan, const sc_rt_method *method,
                             const float **states) {
    const uint32_t count = sc_quant_observer_count(plan);
    const uint32_t first = sc_rt_method_output_count(method) - count;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t floats = sc_quant_state_floats(plan, i);
        const sc_evalue *value = sc_rt_method_output(method, first + i);
        if (!CHECK(value && value->tag == SC_EVALUE_TENSOR)) return SC_ERR_INTERNAL;
        float *state = sc_new_array(&s->arena, float, floats);
        sc_rt_tensor_read(value->tensor, state, floats * sizeof(float));
        states[i] = state;
    }
    return SC_OK;
}

sc_status quant_calibrate(setup *s, const sc_quant_plan *plan, const sc_method *of, double below,
                          const float **states) {
    sc_program *observed = NULL;
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    if (sc_quant_observer_count(plan) == 0) return SC_OK;
    SC_TRY(sc_quant_observed(&s->ctx, plan, &observed));
    SC_TRY(quant_open(s, observed, NULL, &running));
    sc_status status =
        sc_rt_method_load(&s->ctx, running, sc_rt_program_method_name(running, 0), &method);
    for (uint64_t batch = 0; batch < BATCHES && status == SC_OK; batch++) {
        status = quant_set_inputs(s, of, method, batch, below);
        if (status == SC_OK) status = sc_rt_method_run(&s->ctx, method);
    }
    if (status == SC_OK) status = keep_states(s, plan, method, states);
    sc_rt_program_close(running);
    return status;
}

const quant_case quant_cases[QUANT_CASES] = {
    {"quant/conv_bn_relu", "static_channel", 0, NULL},
    {"quant/late_norm", "static_tensor", 0, NULL},
    {"quant/conv1d", "static_channel", 0, NULL},
    {"quant/conv1d", "static_tensor", 0, NULL},
    {"quant/linear_relu", "static_channel", 0, NULL},
    {"quant/linear_relu", "dynamic_channel", 0, NULL},
    {"quant/pools", "static_channel", 0, NULL},
    {"quant/strict_pools", "static_channel", 0, NULL},
    {"quant/numbers", "static_tensor", 0, NULL},
    {"quant/numbers", "dynamic_tensor", 0, NULL},
    {"quant/cats", "static_channel", 0, NULL},
    {"quant/sharing", "static_channel", 0, NULL},
    {"quant/in_place", "static_channel", 0, NULL},
    {"quant/shared_conv", "static_channel", 0,
     "the second convolution of a shared weight is quantized, too"},
    {"quant/written", "static_channel", 0, "what was written is what is read"},
    {"quant/integers", "static_channel", 16, "integers are not observed"},
    {"quant/attention", "static_channel", 0, NULL},
    {"quant/attention", "dynamic_channel", 0, NULL},
    {"quant/images", "static_channel", 0, NULL},
    {"quant/images", "dynamic_channel", 0, NULL},
    {"quant/embedded", "static_channel", 16, NULL},
    {"quant/embedded", "dynamic_channel", 16, NULL},
    {"quant/weights", "static_channel", 0, NULL},
    {"quant/weights", "dynamic_tensor", 0, NULL},
    {"quant/layers", "int8_channel", 0, NULL},
    {"quant/layers", "int4_group", 0, NULL},
    {"quant/layers", "8da4w_channel", 0, NULL},
    {"quant/layers", "8da4w_group", 0, NULL},
    {"quant/composed", "dynamic_static", 0, NULL},
    {"quant/composed", "static_dynamic", 0, NULL},
    {"quant/composed", "static_int4", 0, "PT2E quantizes what torchao has quantized once more"},
    {"quant/composed", "dynamic_halves", 0, "PT2E and torchao do not know of each other"},
    {"models/mlp", "static_channel", 0, NULL},
    {"models/mlp", "dynamic_channel", 0, NULL},
    {"models/cnn", "static_channel", 0, NULL},
    {"models/cnn", "static_tensor", 0, NULL},
    {"models/cnn", "dynamic_channel", 0, "convolutions before a relu are quantized, too"},
    {"models/tinyformer", "static_channel", 4, NULL},
    {"models/tinyformer", "dynamic_channel", 4, NULL},
    {"models/lstm", "static_channel", 0, NULL},
    {"models/cnn_dynbatch", "static_channel", 0, NULL},
    {"models/counter_buffer", "static_channel", 0,
     "the new value of state is no constant, and PT2E freezes it"},
    {"models/kv_cache_index_copy_frozen", "static_channel", 4, NULL},
};

sc_quant_config quant_config_of(const char *recipe) { return quant_configs_of(recipe).items[0]; }

static sc_quant_config single(const char *recipe) {
    if (strcmp(recipe, "int8_channel") == 0)
        return (sc_quant_config){.mode = SC_QUANT_WEIGHT_ONLY, .weight_bits = 8};
    if (strcmp(recipe, "int4_group") == 0)
        return (sc_quant_config){.mode = SC_QUANT_WEIGHT_ONLY, .weight_bits = 4, .group_size = 8};
    if (strcmp(recipe, "8da4w_channel") == 0)
        return (sc_quant_config){.mode = SC_QUANT_DYNAMIC_INT4};
    if (strcmp(recipe, "8da4w_group") == 0)
        return (sc_quant_config){.mode = SC_QUANT_DYNAMIC_INT4, .group_size = 16};
    return (sc_quant_config){.mode = strncmp(recipe, "static", 6) == 0 ? SC_QUANT_STATIC
                                                                       : SC_QUANT_DYNAMIC,
                             .per_channel = strstr(recipe, "channel") != NULL};
}

// Modules whose names begin with a d are dynamic, the others are static.
quant_configs quant_configs_of(const char *recipe) {
    static const sc_str dynamic[] = {{"d_*", 3}}, fixed[] = {{"s_*", 3}};
    const quant_configs ways = {.items = {single("dynamic_channel"), single("static_channel")},
                                .count = 2};
    quant_configs made = {.items = {single(recipe)}, .count = 1};
    if (strcmp(recipe, "dynamic_static") == 0) {
        made = ways;
        made.items[0].skip = fixed;
    } else if (strcmp(recipe, "static_dynamic") == 0) {
        made = (quant_configs){.items = {ways.items[1], ways.items[0]}, .count = 2};
        made.items[0].skip = dynamic;
    } else if (strcmp(recipe, "static_int4") == 0) {
        made =
            (quant_configs){.items = {single("int4_group"), single("static_channel")}, .count = 2};
        made.items[1].skip = dynamic;
        made.items[1].skip_count = 1;
    } else if (strcmp(recipe, "dynamic_halves") == 0) {
        made = (quant_configs){
            .items = {single("dynamic_channel"), {.mode = SC_QUANT_HALF_WEIGHTS}}, .count = 2};
        made.items[0].skip = fixed;
    }
    made.items[0].skip_count = made.items[0].skip != NULL;
    return made;
}

sc_status quant_import(setup *s, const char *path, sc_program **out) {
    const sc_extent file = setup_file(s, path);
    const sc_import_options options = {.method = SC_STR("forward")};
    *out = sc_program_new(&s->ctx);
    return sc_import_pt2(&s->ctx, file.source, &options, *out);
}

sc_status quant_import_all(setup *s, const char *path, sc_program **out) {
    const sc_import_options options = {0};
    *out = sc_program_new(&s->ctx);
    return sc_import_pt2(&s->ctx, setup_file(s, path).source, &options, *out);
}

sc_status quant_quantize(setup *s, sc_method *method, const quant_configs *configs, double below) {
    const float *states[256];
    sc_quant_plan *plan = NULL;
    SC_TRY(sc_quant_prepare(&s->ctx, method, configs->items, configs->count, &plan));
    if (!CHECK(sc_quant_observer_count(plan) <= SC_COUNT_OF(states))) return SC_ERR_INTERNAL;
    SC_TRY(quant_calibrate(s, plan, method, below, states));
    SC_TRY(sc_quant_choose_scales(&s->ctx, plan, states));
    return sc_quant_convert(&s->ctx, plan, &sc_own_evaluator);
}
