// What the tables say of operators (trace/coverage.h), held to what lowering makes of programs:
// those of tests/decompose, in which every operator that is expanded has a call, and each with a
// limit one within and one beyond it.
#include "trace/coverage.h"

#include "lowering.h"
#include "trace/expand.h"
#include "trace/official/official.h"

// What is known of an operator after all programs have been seen.
typedef struct seen {
    bool is_called;        // by a program that is lowered
    bool is_taken;         // expanded for the official runtime
    bool is_left;          // left whole, though that runtime refuses the call
    uint32_t asked, left;  // the last program in which it should have been, and was not
    bool comes_to[SC_OP_COUNT];
} seen;

typedef struct survey {
    setup *s;
    seen *ops;         // by id
    sc_map by_origin;  // of a program: the operators of its nodes
    uint32_t program;  // its number
    uint32_t judged;   // how many could be lowered
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
        const sc_op *op = made_for(v, node), *leaf = node->op;
        const bool is_taken = sc_official_lack(node) != NULL;
        if (!op || !is_call(node)) continue;
        if (!sc_op_has(leaf, SC_RUNS) && sc_op_coverage(op).here != SC_COVERED_NOT)
            FAIL("%s is said to run here, and comes to %s", op->name, leaf->name);
        if (is_taken) v->ops[leaf->id].asked = v->program;
        const bool is_lacking = !sc_op_has(leaf, SC_RUNS) || (!is_official(leaf) && !is_taken);
        if (sc_op_expansion(op) && (is_lacking || (is_taken && sc_official_limit(leaf))))
            v->ops[op->id].comes_to[leaf->id] = true;
    }
    return SC_OK;
}

static bool may_be_left(const sc_op *leaf, const sc_op *op) {
    const sc_coverage c = sc_op_coverage(op);
    return c.official == SC_COVERED_NOT || (c.limit && sc_official_limit(leaf));
}

// What there is to run has a kernel on the official runtime, or is what the tables say of it.
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

// Nor does that kernel refuse the call.
static void check_refused(survey *v) {
    for (uint32_t i = 0; i < v->s->ctx.diags.count; i++) {
        const sc_diag *diag = &v->s->ctx.diags.data[i];
        const sc_op *op = sc_op_find(diag->where.op);
        if (diag->code != SC_ERR_UNSUPPORTED_OP || !op) continue;
        leave(v, op);
        if (!sc_official_limit(op)) FAIL("a call of %s is refused officially", op->name);
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
                v->judged++;
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
        if (test_case("%s %.*s", file, (int)(body - at - 6), at + 5))
            survey_program(v, (sc_str){body, (size_t)(end - body)});
        at = next;
    }
}

static seen *survey_all(void) {
    size_t count;
    survey v = {.ops = test_alloc(SC_OP_COUNT * sizeof(seen))};
    CHECK_OK(sc_ops_init());
    memset(v.ops, 0, SC_OP_COUNT * sizeof(seen));
    const char **files = test_list("decompose", ".ir", &count);
    for (size_t i = 0; i < count; i++) survey_file(&v, files[i]);
    survey_file(&v, "expansions/calls.ir");
    CHECK(v.judged >= 700);
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
    const bool is_there = sc_official_limit(op) != NULL;
    if (sc_op_expansion(op) && !is->is_called)
        FAIL("%s is expanded, and no program of tests/decompose calls it", op->name);
    if (is_there && !is->is_left)
        FAIL("%s has a limit, and no program of tests/decompose is beyond it", op->name);
    if (is_there && !is->is_taken) FAIL("%s has a limit, and no program is within it", op->name);
}

TEST_CASES(what_is_said_to_run_comes_to_what_runs) {
    const seen *ops = survey_all();
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

TEST(limits_are_those_of_what_an_operator_comes_to) {
    CHECK_OK(sc_ops_init());
    CHECK(of("aten::mm").limit == NULL && of("aten::sort").limit == NULL);
    CHECK(of("aten::linalg_inv").limit == NULL && of("aten::cumprod").limit == NULL);
    CHECK(of("aten::_linalg_eigh").limit == NULL && of("aten::linalg_svdvals").limit == NULL);
    CHECK_EQ_STR(of("aten::polygamma").limit, "up to the 150th derivative");
    CHECK_EQ_STR(of("aten::special_polygamma").limit, of("aten::polygamma").limit);
    CHECK(of("aten::conv2d").limit == NULL);
    CHECK(of("aten::conv3d").limit == of("aten::convolution").limit);
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
