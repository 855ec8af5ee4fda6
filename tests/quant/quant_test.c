// What PT2E makes of programs, ours has to make, too: the same nodes in the same order, scales but
// for rounding, zero points and integers exactly. tests/tools/make_quant_cases.py wrote the
// programs and the texts; observers see the same numbers there and here, by our own runtime.
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>

#include "api/job.h"
#include "format/zip.h"
#include "observe/observe.h"
#include "pt2/import.h"
#include "setup.h"

enum { BATCHES = 3 };

// --- The program as text -------------------------------------------------------------------------

typedef struct text {
    setup *s;
    const sc_method *method;
    sc_sb sb;
    sc_imap nodes;     // node -> its number + 1
    sc_map constants;  // target -> sc_constant, by first use
} text;

static void put_value(text *t, const sc_value *value) {
    if (value->node) {
        sc_sb_addf(&t->sb, "%%%u", (unsigned)*sc_imap_find(&t->nodes, SC_PTR_KEY(value->node)) - 1);
        if (value->node->out_count > 1) sc_sb_addf(&t->sb, ".%u", value->index);
        return;
    }
    const sc_input_sig *sig = &t->method->inputs.data[value->index];
    if (sig->constant) {
        sc_sb_addf(&t->sb, "@" SC_STR_FMT, SC_STR_ARG(sig->target));
        sc_map_add(&t->constants, sig->target, sig->constant);
        return;
    }
    uint32_t number = 0;
    for (uint32_t i = 0; i < value->index; i++)
        number += t->method->inputs.data[i].kind == SC_INPUT_USER;
    sc_sb_addf(&t->sb, "$%u", number);
}

static void put_arg(text *t, const sc_arg *arg) {
    switch (arg->kind) {
    case SC_ARG_VALUE: put_value(t, arg->value); break;
    case SC_ARG_NONE: sc_sb_add_text(&t->sb, "none"); break;
    case SC_ARG_INT: sc_sb_addf(&t->sb, "%.9g", (double)arg->i); break;
    case SC_ARG_FLOAT: sc_sb_addf(&t->sb, "%.9g", arg->f); break;
    case SC_ARG_BOOL: sc_sb_addf(&t->sb, "%d", arg->b); break;
    case SC_ARG_STR: sc_sb_add(&t->sb, arg->str); break;
    case SC_ARG_DTYPE: sc_sb_add_text(&t->sb, sc_dtype_name((sc_dtype)arg->code)); break;
    case SC_ARG_LIST:
        sc_sb_add_char(&t->sb, '[');
        for (uint32_t i = 0; i < arg->count; i++) {
            if (i) sc_sb_add_char(&t->sb, ',');
            put_arg(t, &arg->items[i]);
        }
        sc_sb_add_char(&t->sb, ']');
        break;
    default: sc_sb_add_char(&t->sb, '?');
    }
}

static void put_constant(text *t, const sc_constant *constant) {
    const sc_spec *spec = &constant->spec;
    const uint8_t *bytes = NULL;
    sc_arena *arena = &t->s->arena;
    sc_sb_addf(&t->sb, "@" SC_STR_FMT " %s [", SC_STR_ARG(constant->name),
               sc_dtype_name((sc_dtype)spec->dtype));
    for (uint32_t i = 0; i < spec->rank; i++)
        sc_sb_addf(&t->sb, "%s%lld", i ? "," : "", (long long)spec->sizes[i].value);
    sc_sb_add_char(&t->sb, ']');
    CHECK_OK(sc_extent_load(&t->s->ctx, arena, constant->data, 1 << 20, &bytes));
    const uint64_t count = constant->data.size / sizeof(float);
    uint32_t sum = 0;
    if (!sc_dtype_is_float((sc_dtype)spec->dtype)) {
        CHECK_OK(sc_zip_sum(&t->s->ctx, constant->data, &sum));
        sc_sb_addf(&t->sb, " crc %08x", sum);
    } else if (spec->dtype == SC_DTYPE_F32 && count <= 64) {
        for (uint64_t i = 0; i < count; i++) {
            float x;
            memcpy(&x, bytes + i * sizeof(x), sizeof(x));
            sc_sb_addf(&t->sb, " %.9g", (double)x);
        }
    }
    sc_sb_add_char(&t->sb, '\n');
}

static void put_node(text *t, const sc_node *node) {
    sc_imap_set(&t->nodes, SC_PTR_KEY(node), t->nodes.count + 1);
    sc_sb_add(&t->sb, node->op->schema->name);
    // Our rows have parameters of earlier releases, too.
    const bool is_torchao = sc_str_starts_with(node->op->schema->name, "torchao::");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (is_torchao && node->op->schema->params[i].keyword_only) continue;
        sc_sb_add_char(&t->sb, ' ');
        put_arg(t, &node->args[i]);
    }
    sc_sb_add_char(&t->sb, '\n');
}

static void put_outputs(text *t) {
    const sc_node *ret = t->method->graph->ret;
    for (uint32_t i = 0; i < t->method->outputs.count; i++) {
        const sc_output_sig *sig = &t->method->outputs.data[i];
        if (sig->kind == SC_OUTPUT_USER) continue;
        sc_sb_addf(&t->sb, "write @" SC_STR_FMT " ", SC_STR_ARG(sig->target));
        put_arg(t, &ret->args[i]);
        sc_sb_add_char(&t->sb, '\n');
    }
    sc_sb_add_text(&t->sb, "return");
    for (uint32_t i = 0; i < t->method->outputs.count; i++) {
        if (t->method->outputs.data[i].kind != SC_OUTPUT_USER) continue;
        sc_sb_add_char(&t->sb, ' ');
        put_arg(t, &ret->args[i]);
    }
    sc_sb_add_char(&t->sb, '\n');
}

static sc_str print(setup *s, const sc_method *method) {
    text t = {.s = s, .method = method};
    sc_sb_init(&t.sb, &s->arena);
    sc_imap_init(&t.nodes, &s->arena);
    sc_map_init(&t.constants, &s->arena);
    for (const sc_node *node = method->graph->first; node; node = node->next) put_node(&t, node);
    put_outputs(&t);
    for (uint32_t i = 0; i < t.constants.count; i++) put_constant(&t, t.constants.entries[i].value);
    return sc_sb_str(&t.sb);
}

// --- Calibration ---------------------------------------------------------------------------------

// As make_quant_cases.py does: from -2 to 2.
static double number(uint64_t index, uint64_t seed) {
    uint64_t bits = ((index + seed * 7919 + 1) * 2654435761u) & 0xFFFFFFFFu;
    bits ^= bits >> 15;
    bits = (bits * 2246822519u) & 0xFFFFFFFFu;
    return (double)(bits >> 8) / 4194304.0 - 2;
}

static void put_number(uint8_t *at, sc_dtype dtype, double x, double below) {
    if (dtype == SC_DTYPE_F32) {
        const float f = (float)x;
        memcpy(at, &f, sizeof(f));
    } else {
        const int64_t i = (int64_t)floor((x + 2) / 4 * below);
        memcpy(at, &i, sizeof(i));
    }
}

static sc_status set_inputs(setup *s, const sc_method *of, sc_rt_method *method, uint64_t batch,
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
    return sc_delegate_program(&s->ctx, program, partitioners, options, &sc_all_backends, false,
                               &delegation);
}

// Lowered to the kernels, or to a backend as far as it takes the program.
static sc_status open(setup *s, sc_program *program, const char *backend, sc_rt_program **out) {
    const sc_options options = sc_options_default();
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
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t floats = sc_quant_state_floats(plan, i);
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (!CHECK(value && value->tag == SC_EVALUE_TENSOR)) return SC_ERR_INTERNAL;
        float *state = sc_new_array(&s->arena, float, floats);
        sc_rt_tensor_read(value->tensor, state, floats * sizeof(float));
        states[i] = state;
    }
    return SC_OK;
}

static sc_status calibrate(setup *s, const sc_quant_plan *plan, const sc_method *of, double below,
                           const float **states) {
    sc_program *observed = NULL;
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    if (sc_quant_observer_count(plan) == 0) return SC_OK;
    SC_TRY(sc_quant_observed(&s->ctx, plan, &observed));
    SC_TRY(open(s, observed, NULL, &running));
    sc_status status =
        sc_rt_method_load(&s->ctx, running, sc_rt_program_method_name(running, 0), &method);
    for (uint64_t batch = 0; batch < BATCHES && status == SC_OK; batch++) {
        status = set_inputs(s, of, method, batch, below);
        if (status == SC_OK) status = sc_rt_method_run(&s->ctx, method);
    }
    if (status == SC_OK) status = keep_states(s, plan, method, states);
    sc_rt_program_close(running);
    return status;
}

// --- Comparing -----------------------------------------------------------------------------------

static bool same_word(sc_str a, sc_str b, double tolerance) {
    double x, y;
    if (sc_str_equal(a, b)) return true;
    if (!sc_parse_f64(a, &x) || !sc_parse_f64(b, &y)) return false;
    return fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

static sc_str next_word(sc_str *line) {
    const ptrdiff_t end = sc_str_find(*line, ' ');
    const sc_str word = sc_str_slice(*line, 0, end < 0 ? line->size : (size_t)end);
    *line = sc_str_slice(*line, end < 0 ? line->size : (size_t)end + 1, line->size);
    return word;
}

// Zero points, and what is not a scale, are words that are equal or not.
static bool same_line(sc_str a, sc_str b) {
    while (a.size > 0 && b.size > 0)
        if (!same_word(next_word(&a), next_word(&b), 1e-6)) return false;
    return a.size == 0 && b.size == 0;
}

static sc_str next_line(sc_str *rest) {
    const ptrdiff_t end = sc_str_find(*rest, '\n');
    const sc_str line = sc_str_slice(*rest, 0, end < 0 ? rest->size : (size_t)end);
    *rest = sc_str_slice(*rest, end < 0 ? rest->size : (size_t)end + 1, rest->size);
    return line;
}

static void compare(const char *name, sc_str found, sc_str wanted) {
    for (uint32_t line = 1; found.size > 0 || wanted.size > 0; line++) {
        const sc_str a = next_line(&found), b = next_line(&wanted);
        if (same_line(a, b)) continue;
        FAIL("%s:%u: found " SC_STR_FMT "\n    wanted " SC_STR_FMT, name, line, SC_STR_ARG(a),
             SC_STR_ARG(b));
        return;
    }
}

// --- Cases ---------------------------------------------------------------------------------------

typedef struct quant_case {
    const char *program, *recipe;
    double below;         // integers among the inputs
    const char *differs;  // why it is not PT2E's text; NULL: it is
} quant_case;

static const quant_case CASES[] = {
    {"quant/conv_bn_relu", "static_channel", 0, NULL},
    {"quant/late_norm", "static_tensor", 0, NULL},
    {"quant/conv1d", "static_channel", 0, NULL},
    {"quant/conv1d", "static_tensor", 0, NULL},
    {"quant/linear_relu", "static_channel", 0, NULL},
    {"quant/linear_relu", "dynamic_channel", 0, NULL},
    {"quant/pools", "static_channel", 0, NULL},
    {"quant/numbers", "static_tensor", 0, NULL},
    {"quant/numbers", "dynamic_tensor", 0, NULL},
    {"quant/cats", "static_channel", 0, NULL},
    {"quant/sharing", "static_channel", 0, NULL},
    {"quant/in_place", "static_channel", 0, NULL},
    {"quant/shared_conv", "static_channel", 0,
     "the second convolution of a shared weight is quantized, too"},
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
    {"models/mlp", "static_channel", 0, NULL},
    {"models/mlp", "dynamic_channel", 0, NULL},
    {"models/cnn", "static_channel", 0, NULL},
    {"models/cnn", "static_tensor", 0, NULL},
    {"models/tinyformer", "static_channel", 4, NULL},
    {"models/tinyformer", "dynamic_channel", 4, NULL},
    {"models/lstm", "static_channel", 0, NULL},
    {"models/cnn_dynbatch", "static_channel", 0, NULL},
    {"models/counter_buffer", "static_channel", 0,
     "the new value of state is no constant, and PT2E freezes it"},
    {"models/kv_cache_index_copy_frozen", "static_channel", 4, NULL},
};

static sc_quant_config config_of(const char *recipe) {
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

static sc_status import(setup *s, const char *path, sc_program **out) {
    const sc_extent file = setup_file(s, path);
    const sc_import_options options = {.method = SC_STR("forward")};
    *out = sc_program_new(&s->ctx);
    return sc_import_pt2(&s->ctx, file.source, &options, *out);
}

static sc_status quantize(setup *s, sc_method *method, const sc_quant_config *config,
                          double below) {
    const float *states[256];
    sc_quant_plan *plan = NULL;
    SC_TRY(sc_quant_prepare(&s->ctx, method, config, &plan));
    if (!CHECK(sc_quant_observer_count(plan) <= SC_COUNT_OF(states))) return SC_ERR_INTERNAL;
    SC_TRY(calibrate(s, plan, method, below, states));
    SC_TRY(sc_quant_settle(&s->ctx, plan, states));
    return sc_quant_convert(&s->ctx, plan, &sc_own_evaluator);
}

static void run_case(const quant_case *c) {
    char path[256], name[256];
    setup s;
    sc_program *program = NULL;
    setup_begin(&s);
    (void)snprintf(path, sizeof(path), "%s.pt2", c->program);
    const char *slash = strrchr(c->program, '/');
    (void)snprintf(name, sizeof(name), "quant/%s.%s%s.txt", slash + 1, c->recipe,
                   c->differs ? ".ours" : "");
    sc_status status = import(&s, path, &program);
    const sc_quant_config config = config_of(c->recipe);
    if (status == SC_OK) status = quantize(&s, program->methods.data[0], &config, c->below);
    if (status == SC_OK) status = sc_verify(&s.ctx, program);
    if (!CHECK_OK(status)) FAIL("%s: %s", name, setup_message(&s));
    if (status == SC_OK) {
        const sc_str found = print(&s, program->methods.data[0]);
        size_t size = 0;
        if (c->differs)
            CHECK_GOLDEN(name, found.data, found.size);
        else {
            const char *wanted = test_read(name, &size);
            compare(name, found, (sc_str){wanted, size});
        }
    }
    setup_end(&s);
}

TEST_CASES(programs_become_what_pt2e_makes_of_them) {
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++)
        if (test_case("%s %s", CASES[i].program, CASES[i].recipe)) run_case(&CASES[i]);
}

// --- Running -------------------------------------------------------------------------------------

typedef struct outputs {
    float *data[8];
    uint64_t counts[8];
    uint32_t count;
} outputs;

static void keep_outputs(setup *s, const sc_rt_method *method, outputs *out) {
    const uint32_t count = sc_rt_method_output_count(method);
    for (uint32_t i = 0; i < count && out->count < SC_COUNT_OF(out->data); i++) {
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (value->tag != SC_EVALUE_TENSOR || value->tensor->dtype != SC_DTYPE_F32) continue;
        const uint64_t floats = value->tensor->numel;
        out->data[out->count] = sc_new_array(&s->arena, float, floats + 1);
        sc_rt_tensor_read(value->tensor, out->data[out->count], floats * sizeof(float));
        out->counts[out->count++] = floats;
    }
}

static sc_status run(setup *s, const sc_program *program, const char *backend, double below,
                     outputs *out) {
    sc_program *copy = NULL;
    sc_rt_program *running = NULL;
    sc_rt_method *method = NULL;
    SC_TRY(sc_program_clone(program, &copy));
    SC_TRY(open(s, copy, backend, &running));
    sc_status status =
        sc_rt_method_load(&s->ctx, running, sc_rt_program_method_name(running, 0), &method);
    if (status == SC_OK) status = set_inputs(s, program->methods.data[0], method, 1, below);
    if (status == SC_OK) status = sc_rt_method_run(&s->ctx, method);
    if (status == SC_OK) keep_outputs(s, method, out);
    sc_rt_program_close(running);
    return status;
}

// 10 log10 of what is right over what is not.
static double decibels(const outputs *expected, const outputs *found) {
    double signal = 0, noise = 0;
    if (!CHECK(expected->count == found->count && found->count > 0)) return -1;
    for (uint32_t o = 0; o < found->count; o++)
        for (uint64_t i = 0; i < found->counts[o] && i < expected->counts[o]; i++) {
            const double x = expected->data[o][i], y = found->data[o][i];
            signal += x * x;
            noise += (x - y) * (x - y);
        }
    return noise > 0 ? 10 * log10(signal / noise) : 200;
}

static void run_quantized(const char *program_path, const sc_quant_config *config, double below,
                          double wanted) {
    static const char *const backends[] = {NULL, "xnnpack"};
    sc_program *program = NULL;
    outputs expected = {0};
    setup s;
    setup_begin(&s);
    sc_status status = import(&s, test_format("%s.pt2", program_path), &program);
    if (status == SC_OK) status = run(&s, program, NULL, below, &expected);
    if (status == SC_OK) status = quantize(&s, program->methods.data[0], config, below);
    if (status == SC_OK) status = sc_verify(&s.ctx, program);
    for (size_t b = 0; b < SC_COUNT_OF(backends) && status == SC_OK; b++) {
        outputs found = {0};
        status = run(&s, program, backends[b], below, &found);
        const double db = status == SC_OK ? decibels(&expected, &found) : 0;
        if (db < wanted)
            FAIL("%s on %s: %.1f dB", program_path, backends[b] ? backends[b] : "kernels", db);
    }
    if (!CHECK_OK(status)) FAIL("%s: %s", program_path, setup_message(&s));
    setup_end(&s);
}

TEST_CASES(quantized_programs_run_on_kernels_and_delegates) {
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        const sc_quant_config config = config_of(CASES[i].recipe);
        // The delegate does not yet order a weight that is quantized inside of it.
        if (strcmp(CASES[i].program, "quant/weights") == 0 && config.mode == SC_QUANT_DYNAMIC)
            continue;
        if (test_case("%s %s", CASES[i].program, CASES[i].recipe))
            run_quantized(CASES[i].program, &config, CASES[i].below, 15);
    }
}

TEST(halves_are_widened_when_the_program_runs) {
    const sc_quant_config config = {.mode = SC_QUANT_HALF_WEIGHTS};
    run_quantized("models/mlp", &config, 0, 50);
    run_quantized("models/cnn", &config, 0, 50);
}

// --- Reasons -------------------------------------------------------------------------------------

typedef struct reason {
    const char *program, *recipe, *node, *why_not;  // NULL: it is quantized
} reason;

static const reason REASONS[] = {
    {"quant/conv_bn_relu.pt2", "static_channel", "conv2d", NULL},
    {"quant/conv_bn_relu.pt2", "static_channel", "batch_norm", NULL},
    {"quant/conv_bn_relu.pt2", "static_channel", "max_pool2d", NULL},
    {"quant/late_norm.pt2", "static_channel", "batch_norm",
     "only a batch norm in evaluation, right after a convolution that nothing else reads, becomes "
     "part of it"},
    {"quant/conv1d.pt2", "static_channel", "conv_transpose1d_1",
     "a transposed convolution has to have one group"},
    {"quant/conv1d.pt2", "dynamic_channel", "conv1d",
     "of convolutions, only those of images are quantized dynamically"},
    {"quant/images.pt2", "dynamic_channel", "conv2d_1",
     "a depthwise convolution is not quantized dynamically"},
    {"quant/embedded.pt2", "static_channel", "add", "'b_at' is int64"},
    {"quant/embedded.pt2", "static_channel", "gelu", "no pattern has this operator"},
    {"quant/pools.pt2", "static_channel", "adaptive_avg_pool2d_2",
     "it has the scale of its input, which has none"},
    {"quant/pools.pt2", "dynamic_channel", "mul",
     "only linear layers and convolutions are quantized dynamically"},
    {"models/counter_buffer.pt2", "static_channel", "mul_", "its result is written in place"},
    {"models/counter_buffer.pt2", "static_channel", "add__1",
     "it writes in place what other nodes read"},
};

static const sc_quant_row *find_row(const sc_quant_plan *plan, const char *name) {
    for (uint32_t i = 0; i < sc_quant_row_count(plan); i++)
        if (strcmp(sc_quant_row_at(plan, i)->node->text, name) == 0)
            return sc_quant_row_at(plan, i);
    return NULL;
}

static void check_reason(const reason *r) {
    const sc_quant_config config = config_of(r->recipe);
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    setup_begin(&s);
    sc_status status = import(&s, r->program, &program);
    if (status == SC_OK)
        status = sc_quant_prepare(&s.ctx, program->methods.data[0], &config, &plan);
    if (CHECK_OK(status)) {
        const sc_quant_row *row = find_row(plan, r->node);
        if (CHECK(row != NULL)) {
            CHECK_EQ_STR(sc_str_dup(&s.arena, row->why_not), r->why_not ? r->why_not : "");
            CHECK(row->is_quantized == !r->why_not);
        }
    }
    setup_end(&s);
}

TEST_CASES(every_node_is_quantized_or_has_a_reason) {
    for (size_t i = 0; i < SC_COUNT_OF(REASONS); i++)
        if (test_case("%s %s", REASONS[i].program, REASONS[i].node)) check_reason(&REASONS[i]);
}

// What the user names stays as it is, with all below it.
TEST(what_is_asked_for_is_skipped) {
    static const sc_str skip[] = {{"a", 1}, {"batch_*", 7}, {"aten::max_pool2d", 16}};
    sc_quant_config config = config_of("static_channel");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    setup s;
    config.skip = skip;
    config.skip_count = SC_COUNT_OF(skip);
    setup_begin(&s);
    CHECK_OK(import(&s, "quant/conv_bn_relu.pt2", &program));
    CHECK_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, &plan));
    CHECK(!find_row(plan, "conv2d")->is_quantized);
    CHECK_EQ_STR(sc_str_dup(&s.arena, find_row(plan, "conv2d")->why_not),
                 "it was asked to stay as it is");
    CHECK(!find_row(plan, "max_pool2d")->is_quantized);
    CHECK(find_row(plan, "conv2d_1")->is_quantized);
    setup_end(&s);
}

// --- What is found -------------------------------------------------------------------------------

TEST(scales_are_told_with_their_places) {
    const sc_quant_config config = config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    const float *states[16];
    uint32_t weights = 0;
    setup s;
    setup_begin(&s);
    REQUIRE_OK(import(&s, "models/mlp.pt2", &program));
    sc_method *method = program->methods.data[0];
    REQUIRE_OK(sc_quant_prepare(&s.ctx, method, &config, &plan));
    REQUIRE_OK(calibrate(&s, plan, method, 0, states));
    REQUIRE_OK(sc_quant_settle(&s.ctx, plan, states));
    for (uint32_t i = 0; i < sc_quant_range_count(plan); i++) {
        const sc_quant_range *range = sc_quant_range_at(plan, i);
        CHECK(range->count == 1 && range->low <= range->high && range->scales[0] > 0);
        CHECK(range->place_count > 0 && sc_quant_place(plan, i, 0) != NULL);
        weights += range->is_weight;
    }
    CHECK(weights > 0);
    setup_end(&s);
}

// A scale that nothing has been seen for would be a guess.
TEST(nothing_seen_is_an_error_that_names_the_node) {
    const sc_quant_config config = config_of("static_tensor");
    sc_program *program = NULL;
    sc_quant_plan *plan = NULL;
    const float *states[16];
    setup s;
    setup_begin(&s);
    REQUIRE_OK(import(&s, "models/mlp.pt2", &program));
    REQUIRE_OK(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, &plan));
    for (uint32_t i = 0; i < sc_quant_observer_count(plan); i++)
        states[i] = sc_new_array(&s.arena, float, sc_quant_state_floats(plan, i));
    CHECK_STATUS(sc_quant_settle(&s.ctx, plan, states), SC_ERR_STATE);
    CHECK(sc_vec_last(&s.ctx.diags).where.node.size > 0);
    ((float *)(uintptr_t)states[0])[SC_OBSERVED_NANS] = 1;
    CHECK_STATUS(sc_quant_settle(&s.ctx, plan, states), SC_ERR_NUMERIC);
    setup_end(&s);
}

// Layers cannot be told in a program that is decomposed, and integers have no scale.
TEST(programs_that_are_too_late_are_refused) {
    static const char *const files[] = {"models/mlp.core.pt2", "models/quantized_mlp.pt2"};
    const sc_quant_config config = config_of("static_tensor");
    for (size_t i = 0; i < SC_COUNT_OF(files); i++) {
        sc_program *program = NULL;
        sc_quant_plan *plan = NULL;
        setup s;
        setup_begin(&s);
        CHECK_OK(import(&s, files[i], &program));
        CHECK_STATUS(sc_quant_prepare(&s.ctx, program->methods.data[0], &config, &plan),
                     SC_ERR_STATE);
        setup_end(&s);
    }
}
