// The tables about operators (trace/coverage.h) are held to what lowering makes of programs:
// those of tests/decompose, in which every operator that is expanded has a call, and each with a
// limit one within and one beyond it.
#include "trace/coverage.h"

#include "lowering.h"
#include "ops/library.h"
#include "ops/takes.h"
#include "trace/expand.h"
#include "trace/functorch/functorch.h"
#include "trace/official/official.h"

// Facts known of an operator after all programs have been seen.
typedef struct seen {
    bool is_called;        // by a program that is lowered
    bool is_taken;         // expanded for the official runtime
    bool is_left;          // left whole, though that runtime refuses the call
    uint32_t asked, left;  // the last program in which it should have been, and was not
    uint32_t beyond;       // the limits that were reported, as bits
    bool comes_to[SC_OP_COUNT];
} seen;

typedef struct survey {
    setup *s;
    seen *ops;         // by id
    sc_map by_origin;  // of a program: the operators of its nodes
    uint32_t program;  // its number
    bool is_judged;    // could it be lowered?
    sc_sb *refused;    // the names of those that could not
} survey;

static void leave(survey *v, const sc_op *op) {
    v->ops[op->id].is_left = true;
    v->ops[op->id].left = v->program;
}

static const sc_op *functional_of(const sc_op *op) {
    return sc_op_has(op, SC_INPLACE) ? op->functional : op;
}

static sc_status note_calls(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *v = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_map_add(&v->by_origin, sc_name_str(sc_node_origin(node)),
                   (void *)(uintptr_t)functional_of(node->op));
    return SC_OK;
}

static void mark_called(survey *v) {
    for (uint32_t i = 0; i < v->by_origin.count; i++)
        v->ops[((const sc_op *)v->by_origin.entries[i].value)->id].is_called = true;
}

// The operator of the program that a node was made for; NULL of what nothing was called for.
static const sc_op *made_for(const survey *v, const sc_node *node) {
    return sc_map_get(&v->by_origin, sc_name_str(sc_node_origin(node)));
}

// Pairs and complex numbers share their memory where sizes are known: no kernel runs.
static bool shows_the_same_bytes(const sc_node *node) {
    return node->op->id == SC_OP_view_as_complex_copy && sc_spec_is_static(&node->outs[0]->spec);
}

// Sizes are computed by the runtimes themselves, and control flow becomes jumps.
static bool is_call(const sc_node *node) {
    return !sc_op_has(node->op, SC_SYMBOLIC | SC_HIGHER_ORDER | SC_ASSERTION) &&
           !shows_the_same_bytes(node);
}

static bool is_official(const sc_op *op) { return op->out_name && !sc_op_has(op, SC_UNOFFICIAL); }

// The edge dialect: here everything has to run; what the official runtime lacks is to be expanded.
static sc_status note_leaves(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *v = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_op *op = made_for(v, node), *leaf = sc_op_called(node->op);
        const bool is_taken = sc_official_lack(node) != NULL;
        if (!op || !is_call(node)) continue;
        if (!sc_op_has(leaf, SC_RUNS) && sc_op_coverage(op).here != SC_COVERED_NOT)
            FAIL("%s is said to run here, and comes to %s", op->name, leaf->name);
        if (is_taken) v->ops[leaf->id].asked = v->program;
        const bool is_lacking = !sc_op_has(leaf, SC_RUNS) || (!is_official(leaf) && !is_taken);
        if (sc_op_expansion(op) && (is_lacking || (is_taken && sc_official_limits(leaf))))
            v->ops[op->id].comes_to[leaf->id] = true;
    }
    return SC_OK;
}

static bool may_be_left(const sc_op *leaf, const sc_op *op) {
    const sc_coverage c = sc_op_coverage(op);
    return c.official == SC_COVERED_NOT || (c.limits & sc_official_limits(leaf)) != 0;
}

// An operator to run has a kernel on the official runtime, or is one that the tables name.
static sc_status check_left(sc_ctx *ctx, sc_graph *graph, void *user) {
    survey *v = user;
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_op *op = made_for(v, node);
        if (!op || !is_call(node) || sc_op_has(node->op, SC_VIEW) || is_official(node->op))
            continue;
        leave(v, node->op);
        if (!may_be_left(node->op, op))
            FAIL("%s is said to run officially, and comes to %s", op->name, node->op->name);
    }
    return SC_OK;
}

// The limit that is named, a bit.
static uint32_t limit_reported(const sc_diag *diag) {
    for (int i = 1; i < SC_LIMIT_COUNT; i++)
        if (sc_str_ends_with(diag->message, test_format(": %s", sc_limit_calls((sc_limit)i))))
            return UINT32_C(1) << i;
    return 0;
}

// Nor does that kernel refuse the call, unless beyond a limit that is said to be the operator's.
static void check_refused(survey *v) {
    for (uint32_t i = 0; i < v->s->ctx.diags.count; i++) {
        const sc_diag *diag = &v->s->ctx.diags.data[i];
        const sc_op *op = sc_op_find(diag->where.op);
        if (diag->code != SC_ERR_UNSUPPORTED_OP || !op) continue;
        leave(v, op);
        v->ops[op->id].beyond |= limit_reported(diag);
        if (!(limit_reported(diag) & sc_official_limits(op)))
            FAIL("a call of %s is refused officially: " SC_STR_FMT, op->name,
                 SC_STR_ARG(diag->message));
    }
}

static void mark_taken(survey *v) {
    for (int id = 1; id < SC_OP_COUNT; id++)
        if (v->ops[id].asked == v->program && v->ops[id].left != v->program)
            v->ops[id].is_taken = true;
}

static void visit(survey *v, sc_program *program, sc_graph_visitor look) {
    for (uint32_t i = 0; i < program->methods.count; i++)
        (void)sc_graphs_visit(&v->s->ctx, program->methods.data[i]->graph, look, v);
}

static void survey_program(survey *v, sc_str text) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    v->s = &s;
    v->program++;
    v->is_judged = false;
    sc_map_init(&v->by_origin, &s.arena);
    if (sc_program_parse(&s.ctx, text, &program) == SC_OK) {
        visit(v, program, note_calls);
        if (lower_to_edge(&s, program) == SC_OK) {
            mark_called(v);
            visit(v, program, note_leaves);
            if (lower_step(&s, program, SC_STEP_to_executorch) == SC_OK) {
                visit(v, program, check_left);
                check_refused(v);
                mark_taken(v);
                v->is_judged = true;
            }
        }
    }
    setup_end(&s);
}

// Cases: "=== name", a program, and "----" where something follows that is not looked at here.
static void survey_file(survey *v, const char *file) {
    size_t bytes;
    char *text = test_read(file, &bytes);
    for (const char *at = text ? strstr(text, "\n=== ") : NULL; at;) {
        const char *body = strchr(at + 5, '\n') + 1, *next = strstr(body, "\n=== ");
        const char *end = next ? next + 1 : text + bytes, *divider = strstr(body, "\n----\n");
        if (divider && divider < end) end = divider + 1;
        const int name = (int)(body - at - 6);
        if (test_case("%s %.*s", file, name, at + 5)) {
            survey_program(v, (sc_str){body, (size_t)(end - body)});
            if (!v->is_judged) sc_sb_addf(v->refused, "%s %.*s\n", file, name, at + 5);
        }
        at = next;
    }
}

static seen *survey_all(void) {
    size_t count;
    sc_arena arena;
    sc_sb refused;
    survey v = {.ops = test_alloc(SC_OP_COUNT * sizeof(seen)), .refused = &refused};
    sc_arena_init(&arena);
    sc_sb_init(&refused, &arena);
    CHECK_OK(sc_ops_init());
    memset(v.ops, 0, SC_OP_COUNT * sizeof(seen));
    const char **files = test_list("decompose", ".ir", &count);
    for (size_t i = 0; i < count; i++) survey_file(&v, files[i]);
    survey_file(&v, "expansions/calls.ir");
    // Operators that need a known size, or are refused: each by its name.
    CHECK_GOLDEN_OF_ALL("data/not_lowered.txt", sc_sb_str(&refused).data, sc_sb_str(&refused).size);
    sc_arena_deinit(&arena);
    return v.ops;
}

// "aten::add.Tensor" as a row of a table writes it: add_Tensor.
static const char *id_of(const sc_op *op) {
    char *id = test_format("%s", op->name);
    if (strncmp(id, "aten::", 6) == 0) id += 6;
    for (char *c = id; *c; c++)
        if (*c == '.' || *c == ':') *c = '_';
    return id;
}

static void add_leaves(sc_sb *sb, const seen *ops) {
    for (int id = 1; id < SC_OP_COUNT; id++)
        for (int leaf = 1; leaf < SC_OP_COUNT; leaf++)
            if (ops[id].comes_to[leaf])
                sc_sb_addf(sb, "LEAVES(%s, %s)\n", id_of(sc_op_get((sc_op_id)id)),
                           id_of(sc_op_get((sc_op_id)leaf)));
}

static void check_leaves(const seen *ops) {
    setup s;
    sc_sb sb;
    size_t bytes;
    const char *path = "../src/trace/leaves.def";
    const char *text = test_read(path, &bytes), *rows;
    setup_begin(&s);
    sc_sb_init(&sb, &s.arena);
    rows = strstr(text, "\nLEAVES(");
    sc_sb_add(&sb, (sc_str){text, rows ? (size_t)(rows + 1 - text) : bytes});
    add_leaves(&sb, ops);
    CHECK_GOLDEN(path, sb.data, sb.size);
    setup_end(&s);
}

// Every operator that is said to be expanded is seen to be, and every limit to be one.
static void check_seen(const sc_op *op, const seen *is) {
    const uint32_t limits = sc_official_limits(op);
    if (sc_op_expansion(op) && !is->is_called)
        FAIL("%s is expanded, and no program of tests/decompose calls it", op->name);
    for (int i = 1; i < SC_LIMIT_COUNT; i++)
        if ((limits & ~is->beyond) >> i & 1)
            FAIL("%s has a limit, and no program of tests/decompose is beyond it: %s", op->name,
                 sc_limit_calls((sc_limit)i));
    if (limits && !is->is_taken) FAIL("%s has a limit, and no program is within it", op->name);
}

TEST_CASES(what_is_said_to_run_comes_to_what_runs) {
    const seen *ops = survey_all();
    if (test_is_partial()) return;
    check_leaves(ops);
    for (int id = 1; id < SC_OP_COUNT; id++) check_seen(sc_op_get((sc_op_id)id), &ops[id]);
}

static sc_coverage of(const char *name) {
    const sc_op *op = sc_op_find(sc_str_from(name));
    if (!op) FAIL("no operator is called %s", name);
    return op ? sc_op_coverage(op) : (sc_coverage){.here = SC_COVERED_NOT};
}

TEST(coverage_follows_the_tables) {
    CHECK_OK(sc_ops_init());
    CHECK_EQ_INT(of("aten::mm").official, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::mm").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::linear").official, SC_COVERED_EXPANDED);
    CHECK_EQ_INT(of("aten::sort").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::sort").official, SC_COVERED_EXPANDED);
    CHECK_EQ_INT(of("aten::sign").official, SC_COVERED_MENDED);
    CHECK_EQ_INT(of("aten::view").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::add_.Tensor").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::addcmul_").here, of("aten::addcmul").here);
    CHECK_EQ_INT(of("aten::igamma").here, SC_COVERED_KERNEL);
    CHECK_EQ_INT(of("aten::igamma").official, SC_COVERED_NOT);
    CHECK(of("aten::igamma").lacks == sc_op_get(SC_OP_igamma));
    CHECK(of("aten::special_gammainc").lacks == sc_op_get(SC_OP_igamma));
}

static uint32_t bit(sc_limit limit) { return UINT32_C(1) << limit; }

TEST(limits_are_those_of_what_an_operator_comes_to) {
    CHECK_OK(sc_ops_init());
    const uint32_t known = bit(SC_LIMIT_KNOWN_KERNELS) | bit(SC_LIMIT_KNOWN_STEPS);
    CHECK(of("aten::mm").limits == 0 && of("aten::sort").limits == 0);
    CHECK(of("aten::linalg_inv").limits == 0 && of("aten::cumprod").limits == 0);
    CHECK(of("aten::_linalg_eigh").limits == 0 && of("aten::linalg_svdvals").limits == 0);
    CHECK_EQ_UINT(of("aten::polygamma").limits, bit(SC_LIMIT_DERIVATIVES));
    CHECK_EQ_STR(sc_limit_calls(SC_LIMIT_DERIVATIVES), "up to the 150th derivative");
    CHECK_EQ_UINT(of("aten::special_polygamma").limits, of("aten::polygamma").limits);
    CHECK_EQ_UINT(of("aten::conv2d").limits, 0);
    CHECK_EQ_UINT(of("aten::conv3d").limits, known);
    CHECK_EQ_UINT(of("aten::randint").limits, bit(SC_LIMIT_LARGE_INTEGER));
    CHECK_EQ_UINT(of("aten::randint.low").limits, bit(SC_LIMIT_LARGE_INTEGER) | bit(SC_LIMIT_SPAN));
}

TEST(pytorchs_list_is_in_order_and_the_table_has_most_of_it) {
    uint32_t known = 0;
    CHECK_OK(sc_ops_init());
    for (uint32_t i = 0; i < sc_pytorch_count(); i++) {
        const char *name = sc_pytorch_name(i);
        const sc_op *op = sc_op_find(sc_str_from(name));
        CHECK(sc_str_starts_with(sc_str_from(name), "aten::"));
        if (i > 0 && strcmp(sc_pytorch_name(i - 1), name) >= 0) FAIL("%s is out of order", name);
        if (op && !sc_op_is_pytorch(op)) FAIL("%s is not found in the list", name);
        known += op != NULL;
    }
    CHECK(known > 800 && known < sc_pytorch_count());
    CHECK(sc_op_is_pytorch(sc_op_get(SC_OP_mm)) && !sc_op_is_pytorch(sc_op_get(SC_OP_view_copy)));
    CHECK(strcmp(sc_pytorch_version(), "2.") > 0);
}

TEST(every_namespace_says_whether_it_is_a_librarys) {
    static const char *const spaces[] = {
#define NAMESPACE(name, is_library) #name,
#include "ops/namespaces.def"
#undef NAMESPACE
    };
    bool is_used[SC_COUNT_OF(spaces)] = {false};
    CHECK_OK(sc_ops_init());
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        const char *library = sc_op_library(op);
        CHECK(!library || !sc_op_is_pytorch(op));
        CHECK(!library || sc_str_starts_with(sc_str_from(op->name), library));
        for (size_t i = 0; i < SC_COUNT_OF(spaces); i++)
            is_used[i] |= strncmp(op->name, spaces[i], strlen(spaces[i])) == 0;
    }
    for (size_t i = 0; i < SC_COUNT_OF(spaces); i++)
        if (!is_used[i]) FAIL("no operator is in the namespace %s", spaces[i]);
    CHECK_EQ_STR(sc_op_library(sc_op_find(SC_STR("torchvision::nms"))), "torchvision");
    CHECK(sc_op_library(sc_op_get(SC_OP_mm)) == NULL);
}

TEST(kernels_say_which_dtypes_come_first) {
    CHECK_OK(sc_ops_init());
    CHECK(sc_op_takes(sc_op_get(SC_OP_view_copy), SC_DTYPE_F8E4M3FN));
    CHECK(sc_op_takes(sc_op_get(SC_OP_mm), SC_DTYPE_F32));
    CHECK(!sc_op_takes(sc_op_get(SC_OP_mm), SC_DTYPE_F8E4M3FN));
    CHECK(!sc_op_takes(sc_op_get(SC_OP_inner), SC_DTYPE_F32));  // expanded: it has no kernel
}

// No operator computes with float8: these make it, move and convert it.
TEST(no_operator_computes_with_float8) {
    static const char *const moves[] = {
        "aten::clone",
        "aten::_to_copy",
        "aten::copy",
        "aten::cat",
        "aten::constant_pad_nd",
        "aten::flip",
        "aten::repeat",
        "aten::upsample_nearest2d.vec",
        "aten::embedding",
        "aten::gather",
        "aten::index.Tensor",
        "aten::index_put",
        "aten::index_select",
        "aten::masked_select",
        "aten::masked_scatter",
        "aten::scatter.src",
        "aten::scatter.value",
        "aten::slice_scatter",
        "aten::arange.start_step",
        "aten::empty.memory_format",
        "aten::empty_strided",
        "aten::empty_permuted",
        "aten::full",
        "aten::full_like",
        "aten::scalar_tensor",
        "aten::rand",
        "aten::randn",
        "aten::rand_like",
        "aten::randn_like",
        "aten::randint",
        "aten::randint.low",
        "aten::randperm",
    };
    uint32_t found = 0;
    CHECK_OK(sc_ops_init());
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        if (!sc_op_is_pytorch(op) || sc_op_expansion(op) || !sc_op_takes(op, SC_DTYPE_F8E5M2))
            continue;
        size_t i = 0;
        while (i < SC_COUNT_OF(moves) && strcmp(moves[i], op->name) != 0) i++;
        if (i == SC_COUNT_OF(moves)) FAIL("%s takes float8: does it compute with it?", op->name);
        found++;
    }
    CHECK_EQ_UINT(found, SC_COUNT_OF(moves));
}

TEST(levels_and_float8_are_counted_by_their_tables) {
    CHECK_OK(sc_ops_init());
    const sc_feature_counts n = sc_count_features();
    CHECK(sc_vmap_has_rule(sc_op_get(SC_OP_mm)) && sc_vmap_has_rule(sc_op_get(SC_OP_add_Tensor)));
    CHECK(!sc_vmap_has_rule(sc_op_get(SC_OP_nonzero)));
    CHECK(sc_jvp_has_row(sc_op_get(SC_OP_mm)) && !sc_jvp_has_row(sc_op_get(SC_OP_nonzero)));
    CHECK(n.vmap > n.jvp && n.jvp > n.float8 && n.float8 > 0);
    CHECK(n.vmap < sc_pytorch_count() && n.vmap_samples > 1);
}
