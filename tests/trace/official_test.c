// Operators that the official runtime lacks are expanded (trace/official) into calls that give
// PyTorch's numbers. Every kernel case (kernel_case.h) of such an operator becomes a program of one
// call, which is expanded and run. tests/conformance checks that the official runtime runs the
// results.
#include "trace/official/official.h"

#include <math.h>

#include "api/compile/evaluate.h"
#include "api/compiling.h"
#include "api/job/options.h"
#include "harness.h"
#include "kernels/kernel_case.h"
#include "passes/passes.h"
#include "trace/coverage.h"
#include "trace/expand.h"

// The cases of one operator: how many were expanded, how many stayed whole.
typedef struct tally {
    const sc_op *op;
    uint32_t expanded, whole;
} tally;

typedef struct made {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_program *program;
    sc_method *method;
    sc_node *node;
} made;

static sc_arg tensor_arg(made *m, const sc_tensor *tensor) {
    static uint32_t number;
    sc_arena *arena = &m->arena;
    sc_exprs *exprs = m->method->exprs;
    sc_str name = sc_str_format(arena, "c%u", number++);
    sc_value *value = sc_graph_add_input(m->method->graph, name, SC_VALUE_TENSOR);
    sc_constant *constant = sc_new(arena, sc_constant);
    size_t bytes = (size_t)tensor->numel * sc_dtype_bytes((sc_dtype)tensor->dtype);
    value->spec = sc_spec_new(arena, (sc_dtype)tensor->dtype, tensor->rank);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        value->spec.sizes[i] = sc_dim_int(tensor->sizes[i]);
        value->spec.strides[i] = sc_dim_int(tensor->strides[i]);
    }
    sc_spec_share(exprs, &value->spec);
    constant->name = sc_name_str(value->name);
    constant->spec = value->spec;
    uint8_t *data = sc_arena_alloc(arena, bytes + 1);
    memcpy(data, tensor->data, bytes);
    constant->data = sc_extent_whole(sc_source_from_memory(arena, data, bytes));
    sc_input_sig sig = {
        .kind = SC_INPUT_CONSTANT_TENSOR, .target = constant->name, .constant = constant};
    sc_vec_push(arena, &m->method->inputs, sig);
    return sc_arg_value(value);
}

static sc_arg list_arg(made *m, const sc_evalue *v) {
    sc_arg *items = sc_new_array(&m->arena, sc_arg, v->count + 1);
    for (uint32_t i = 0; i < v->count; i++)
        items[i] = v->tag == SC_EVALUE_INT_LIST      ? sc_arg_int(v->ints[i]->i)
                   : v->tag == SC_EVALUE_DOUBLE_LIST ? sc_arg_float(v->doubles[i])
                   : v->tag == SC_EVALUE_BOOL_LIST   ? sc_arg_bool(v->bools[i])
                   : v->tensors[i]                   ? tensor_arg(m, v->tensors[i]->tensor)
                                                     : sc_arg_none();
    return sc_arg_list(items, v->count);
}

static sc_arg arg_of(made *m, const sc_evalue *v, const sc_param *param) {
    switch (v->tag) {
    case SC_EVALUE_NONE: return sc_arg_none();
    case SC_EVALUE_TENSOR: return tensor_arg(m, v->tensor);
    case SC_EVALUE_INT:
        return param->type == SC_PARAM_DTYPE ? sc_arg_dtype((sc_dtype)v->i) : sc_arg_int(v->i);
    case SC_EVALUE_DOUBLE: return sc_arg_float(v->d);
    case SC_EVALUE_BOOL: return sc_arg_bool(v->b);
    case SC_EVALUE_STRING: return sc_arg_str(v->str);
    default: return list_arg(m, v);
    }
}

static bool is_composite(const kernel_case *t) {
    return sc_op_expansion(t->op) && !sc_op_has(t->op, SC_RUNS);
}

// An operator that is always expanded has no shapes but those of its file.
static void as_recorded(made *m, const kernel_case *t, const sc_arg *args) {
    sc_graph *graph = m->method->graph;
    m->node = sc_node_new(graph, t->op, args, t->input_count, t->expected_count, "call");
    for (uint32_t i = 0; i < t->expected_count; i++) {
        const sc_tensor *tensor = &t->expected[i].tensor;
        sc_value *out = m->node->outs[i];
        out->type = SC_VALUE_TENSOR;
        out->spec = sc_spec_new(&m->arena, (sc_dtype)tensor->dtype, tensor->rank);
        if (t->expected_count > 1) out->name = sc_graph_unique_name(graph, SC_STR("result"));
        for (uint32_t d = 0; d < tensor->rank; d++)
            out->spec.sizes[d] = sc_dim_int(tensor->sizes[d]);
        sc_spec_set_contiguous(m->method->exprs, &out->spec);
        sc_spec_share(m->method->exprs, &out->spec);
    }
    sc_graph_append(graph, m->node);
}

// A size that only the data tells has no bound otherwise, and no program runs without one.
static void bound_sizes(const sc_node *node) {
    for (uint32_t i = 0; i < node->out_count; i++)
        for (uint32_t d = 0; d < node->outs[i]->spec.rank; d++) {
            sc_symbol *symbol = sc_dim_symbol(node->outs[i]->spec.sizes[d]);
            if (symbol && symbol->range.max == SC_DIM_INF) symbol->range.max = 1000;
        }
}

// The call, and results that are returned: all, or the first `wanted`.
static bool build(made *m, const kernel_case *t, uint32_t wanted, bool composite) {
    sc_arg args[KERNEL_CASE_ITEMS_MAX];
    memset(m, 0, sizeof *m);
    sc_arena_init(&m->arena);
    sc_arena_init(&m->scratch);
    sc_ctx_init(&m->ctx, &m->arena, &m->scratch);
    m->program = sc_program_new(&m->ctx);
    if (sc_program_add_method(m->program, SC_STR("forward"), &m->method) != SC_OK) return false;
    m->method->facts = SC_FACT_SPECS;
    if (!composite) m->method->facts |= SC_FACT_EDGE | SC_FACT_CORE;
    for (uint32_t i = 0; i < t->input_count; i++)
        args[i] = arg_of(m, t->inputs[i], &t->op->schema->params[i]);
    if (composite)
        as_recorded(m, t, args);
    else if (sc_build(m->method->graph, NULL, t->op, args, t->input_count, NULL, &m->node) != SC_OK)
        return false;
    bound_sizes(m->node);
    sc_arg *outs = sc_new_array(&m->arena, sc_arg, m->node->out_count + 1);
    for (uint32_t i = 0; i < m->node->out_count && i < wanted; i++) {
        outs[i] = sc_arg_value(m->node->outs[i]);
        sc_vec_push(&m->arena, &m->method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    }
    sc_graph_set_outputs(m->method->graph, outs, m->method->outputs.count);
    return true;
}

static void drop(made *m) {
    sc_arena_deinit(&m->scratch);
    sc_arena_deinit(&m->arena);
}

// Pairs and complex numbers share their memory where sizes are known: no kernel runs.
static bool is_another_look(const sc_node *node) {
    return node->op->id == SC_OP_view_as_complex_copy && sc_spec_is_static(&node->outs[0]->spec);
}

// Does a node stand here that the official runtime lacks?
static bool is_whole(const made *m) {
    for (const sc_node *node = m->method->graph->first; node; node = node->next)
        if (!is_another_look(node) &&
            (sc_official_lack(node) || sc_op_has(node->op, SC_UNOFFICIAL)))
            return true;
    return false;
}

// Operands that are read row-major, as it lies in memory where the result is.
static void *in_layout(const sc_tensor *t, const uint8_t *row_major) {
    const size_t width = sc_dtype_bytes((sc_dtype)t->dtype);
    uint8_t *out = test_alloc((size_t)t->numel * width + 1);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t rest = i, at = 0;
        for (uint32_t d = t->rank; d-- > 0; rest /= t->sizes[d])
            at += rest % t->sizes[d] * t->strides[d];
        memcpy(out + (size_t)at * width, row_major + (size_t)i * width, width);
    }
    return out;
}

static void check_results(made *m, const kernel_case *t) {
    sc_extent results[KERNEL_CASE_ITEMS_MAX];
    uint32_t count = m->method->outputs.count;
    sc_status status = sc_own_evaluator.run(NULL, m->program, &m->arena, results);
    if (status != SC_OK) {
        sc_str said = m->ctx.diags.count ? sc_vec_last(&m->ctx.diags).message : SC_STR("");
        FAIL("%s: %s (%.*s)", t->name, sc_status_slug(status), (int)said.size, said.data);
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        sc_tensor actual = t->expected[k].tensor;
        uint8_t *data = test_alloc((size_t)results[k].size + 1);
        CHECK_OK(sc_extent_read(&m->ctx, results[k], 0, data, results[k].size));
        actual.data = in_layout(&actual, data);
        kernel_case_compare(t, k, &actual, &t->expected[k]);
    }
}

static const sc_pass *official(void) { return sc_pass_find(SC_STR("official")); }

static const sc_op_id listed[] = {
#define ALWAYS
#define WHERE(condition)
#define OFFICIAL(fn, id, lacks) SC_OP_##id,
#include "trace/official/official.def"
#undef OFFICIAL
#undef WHERE
#undef ALWAYS
};

// In the order in which cases come; with one at the end that has no operator.
typedef struct tallies {
    tally of[SC_COUNT_OF(listed) + 1];
} tallies;

static tally *tally_of(tallies *all, const sc_op *op) {
    tally *count = all->of;
    while (count->op && count->op != op) count++;
    count->op = op;
    return count;
}

static bool is_listed(const sc_op *op) {
    for (uint32_t i = 0; i < SC_COUNT_OF(listed); i++)
        if (op && op->id == listed[i]) return true;
    return false;
}

// Expanded only if complex numbers are made of pairs that lie elsewhere: one call alone
// has none. passes/official.ir and the spectra of the conformance tests do.
static bool is_of_pairs(const sc_op *op) {
    return op->id == SC_OP__fft_c2r || op->id == SC_OP_view_as_real_copy;
}

// Expanded, with as many of the results as it can be expanded for.
static bool build_expanded(made *m, const kernel_case *t) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    for (uint32_t wanted = t->expected_count; wanted > 0; wanted = wanted > 1 ? 1 : 0) {
        if (!build(m, t, wanted, is_composite(t))) return false;
        bool runs = CHECK_OK(sc_pipeline_pass(&m->ctx, &pipeline, official(), m->method));
        if (runs && !is_whole(m)) return true;
        drop(m);
    }
    return false;
}

static void run_case(void *user, const kernel_case *t) {
    made m;
    if (!is_listed(t->op) || t->fails || t->written_count) return;
    if (!test_case("%s/%s", t->path, t->name)) return;
    if (!build(&m, t, t->expected_count, is_composite(t))) {
        FAIL("%s: cannot be built", t->name);
        return;
    }
    bool is_lacking = sc_official_lack(m.node);
    drop(&m);
    if (!is_lacking) return;
    tally *count = tally_of(user, t->op);
    if (!build_expanded(&m, t)) {
        if (sc_official_limits(t->op) == 0) FAIL("%s: stays whole, and no limit says why", t->name);
        count->whole++;
        return;
    }
    count->expanded++;
    check_results(&m, t);
    drop(&m);
}

// Operators that are always decomposed, lowered for both runtimes.
static void run_composite(void *user, const kernel_case *t) {
    (void)user;
    if (!test_case("%s/%s", t->path, t->name)) return;
    for (int there = 0; there < 2; there++) {
        made m;
        const sc_options options = there ? sc_options_default() : sc_options_here();
        sc_pipeline pipeline = {.env = {.options = &options}};
        if (!CHECK(t->op) || !CHECK(build(&m, t, t->expected_count, true))) return;
        CHECK_OK(sc_pipeline_run(&m.ctx, &pipeline, m.program, SC_STEP_decompose));
        CHECK_OK(sc_pipeline_run(&m.ctx, &pipeline, m.program, SC_STEP_to_edge));
        if (there) CHECK_OK(sc_pipeline_pass(&m.ctx, &pipeline, official(), m.method));
        CHECK(!there || !is_whole(&m));
        check_results(&m, t);
        drop(&m);
    }
}

// --- Memory of an expansion ----------------------------------------------------------------------

// A running sum of logarithms, in float64 and by doubling, next to `copies` of the image.
static char *growing(int copies) {
    return test_format("method forward {\n"
                       "  input %%x: f32[64, 64]\n"
                       "  %%wide: f32[%d, 64, 64] = aten::expand_copy(%%x, [%d, 64, 64])\n"
                       "  %%sum: f32[64, 64] = aten::sum.dim_IntList(%%wide, [0])\n"
                       "  slow: (%%y: f32[64, 64]) = aten::logcumsumexp(%%sum, 1) "
                       "!(trace \"  File \\\"net.py\\\", line 7, in forward\\n    z\\n\")\n"
                       "  return %%y\n"
                       "}\n",
                       copies, copies);
}

// The note about memory, if there is one.
static const sc_diag *note_of(made *m, const char *text) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.env = {.options = &options}};
    memset(m, 0, sizeof *m);
    sc_arena_init(&m->arena);
    sc_arena_init(&m->scratch);
    sc_ctx_init(&m->ctx, &m->arena, &m->scratch);
    if (!CHECK_OK(sc_program_parse(&m->ctx, (sc_str){text, strlen(text)}, &m->program)))
        return NULL;
    m->method = m->program->methods.data[0];
    m->method->facts = SC_FACT_SPECS | SC_FACT_EDGE | SC_FACT_CORE;
    CHECK_OK(sc_pipeline_pass(&m->ctx, &pipeline, official(), m->method));
    CHECK_OK(sc_pass_growth(&m->ctx, m->method));
    for (uint32_t i = 0; i < m->ctx.diags.count; i++)
        if (m->ctx.diags.data[i].severity == SC_NOTE) return &m->ctx.diags.data[i];
    return NULL;
}

TEST(more_than_twice_the_memory_is_reported_with_the_line_that_needs_it) {
    made m;
    REQUIRE_OK(sc_ops_init());
    const sc_diag *note = note_of(&m, growing(2));
    if (CHECK(note)) {
        CHECK_EQ_INT(note->code, SC_ERR_LIMIT);
        CHECK(note->where.stack_trace.size > 0);
    }
    drop(&m);
    CHECK(!note_of(&m, growing(64)));
    drop(&m);
}

// --- Random numbers ------------------------------------------------------------------------------

// The official kernel does not scale what it keeps.
TEST(dropout_scales_what_it_keeps) {
    static const char text[] =
        "method forward {\n"
        "  %x: f32[400] = aten::full([400], 3.0, dtype=f32)\n"
        "  drop: (%y: f32[400], %kept: b8[400]) = aten::native_dropout(%x, 0.25, "
        "True)\n"
        "  return %y, %kept\n"
        "}\n";
    made m;
    sc_extent results[2];
    float y[400];
    uint8_t kept[400];
    uint32_t count = 0;
    REQUIRE_OK(sc_ops_init());
    (void)note_of(&m, text);
    for (const sc_node *node = m.method->graph->first; node; node = node->next)
        CHECK(strcmp(node->op->name, "aten::native_dropout") != 0);
    REQUIRE_OK(sc_own_evaluator.run(NULL, m.program, &m.arena, results));
    REQUIRE_OK(sc_extent_read(&m.ctx, results[0], 0, y, sizeof y));
    REQUIRE_OK(sc_extent_read(&m.ctx, results[1], 0, kept, sizeof kept));
    for (uint32_t i = 0; i < 400; i++) {
        CHECK(kept[i] ? fabsf(y[i] - 4) < 1e-5F : y[i] == 0);
        count += kept[i];
    }
    CHECK(count > 200 && count < 380);
    drop(&m);
}

// --- Cases ---------------------------------------------------------------------------------------

TEST_CASES(what_has_no_kernel_gives_what_pytorch_gives) {
    REQUIRE_OK(sc_ops_init());
    kernel_cases_visit_in("expansions", run_composite, NULL);
}

TEST_CASES(expansions_give_what_pytorch_gives) {
    static tallies all;
    memset(&all, 0, sizeof all);
    REQUIRE_OK(sc_ops_init());
    kernel_cases_visit(run_case, &all);
    sc_arena arena;
    sc_sb text;
    sc_arena_init(&arena);
    sc_sb_init(&text, &arena);
    for (const tally *count = all.of; count->op; count++)
        sc_sb_addf(&text, "%s: %u expanded, %u whole\n", count->op->name, count->expanded,
                   count->whole);
    CHECK_GOLDEN_OF_ALL("data/official.txt", sc_sb_str(&text).data, sc_sb_str(&text).size);
    sc_arena_deinit(&arena);
    for (uint32_t i = 0; i < SC_COUNT_OF(listed) && !test_is_partial(); i++) {
        const sc_op *op = sc_op_get(listed[i]);
        if (tally_of(&all, op)->expanded + is_of_pairs(op) == 0)
            FAIL("%s: no case of it is expanded", op->name);
    }
}
