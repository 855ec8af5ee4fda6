// Every node of every .pt2 here, the bundled models included: inference must give the dtype,
// sizes, strides and symbolic values that PyTorch recorded. Composite operators have no rule and
// are left out.
#include "pt2/import.h"
#include "setup.h"

typedef struct tally {
    uint32_t checked, skipped, failed;
} tally;

// A size that only the data tells: the file's symbol for it is not ours.
static bool is_fresh(sc_dim d, uint32_t known_symbols) {
    sc_symbol *symbol = sc_dim_symbol(d);
    return symbol && sc_symbol_index(symbol) >= known_symbols;
}

static bool same_dims(const sc_spec *ours, const sc_spec *theirs, uint32_t known_symbols) {
    if (ours->dtype != theirs->dtype || ours->rank != theirs->rank) return false;
    bool fresh = false;
    for (uint32_t d = 0; d < ours->rank; d++)
        fresh = fresh || is_fresh(ours->sizes[d], known_symbols);
    if (!fresh) return sc_spec_equal(ours, theirs);
    for (uint32_t d = 0; d < ours->rank; d++)
        if (!is_fresh(ours->sizes[d], known_symbols) &&
            !sc_dim_equal(ours->sizes[d], theirs->sizes[d]))
            return false;
    return true;
}

static bool same_result(const sc_iout *ours, const sc_value *theirs, uint32_t known_symbols) {
    switch (theirs->type) {
    case SC_VALUE_TENSOR:
        return ours->kind == SC_IOUT_TENSOR && same_dims(&ours->spec, &theirs->spec, known_symbols);
    case SC_VALUE_INT:
    case SC_VALUE_BOOL:
        if (ours->kind != (theirs->type == SC_VALUE_INT ? SC_IOUT_INT : SC_IOUT_BOOL)) return false;
        return !theirs->has_dim || sc_dim_equal(ours->dim, theirs->dim) ||
               is_fresh(ours->dim, known_symbols);
    case SC_VALUE_FLOAT: return ours->kind == SC_IOUT_FLOAT;
    default: return true;
    }
}

static const char *text_of(setup *s, sc_exprs *exprs, const sc_spec *spec) {
    sc_sb sb;
    sc_sb_init(&sb, &s->arena);
    sc_spec_print(&sb, exprs, spec);
    return sc_sb_terminate(&sb);
}

static void fail_node(setup *s, const char *file, const sc_node *node, const sc_infer *in,
                      uint32_t i) {
    sc_exprs *exprs = node->graph->method->exprs;
    const sc_value *theirs = node->outs[i];
    if (theirs->type == SC_VALUE_TENSOR && in->outs[i].kind == SC_IOUT_TENSOR) {
        FAIL("%s: %s = %s is %s, recorded %s", file, theirs->name->text, node->op->name,
             text_of(s, exprs, &in->outs[i].spec), text_of(s, exprs, &theirs->spec));
        return;
    }
    sc_sb sb;
    sc_sb_init(&sb, &s->arena);
    sc_dim_print(&sb, in->outs[i].dim);
    sc_sb_add_text(&sb, ", recorded ");
    sc_dim_print(&sb, theirs->dim);
    FAIL("%s: %s = %s is %s", file, theirs->name->text, node->op->name, sc_sb_terminate(&sb));
}

static void check_node(setup *s, const char *file, const sc_node *node, tally *count) {
    const sc_op *op = node->op;
    sc_infer in = {.ctx = &s->ctx,
                   .arena = &s->arena,
                   .exprs = node->graph->method->exprs,
                   .op = op,
                   .arg_count = node->arg_count};
    sc_iarg *args = NULL;
    bool by_self = sc_op_has(op, SC_INPLACE);
    if (sc_op_has(op, SC_FOREIGN) || sc_op_has(op, SC_HIGHER_ORDER) || (!op->infer && !by_self)) {
        count->skipped++;
        return;
    }
    CHECK_OK(sc_node_infer_args(&s->arena, node, &args));
    in.args = args;
    uint32_t known_symbols = sc_exprs_symbol_count(in.exprs);
    count->checked++;
    if (sc_infer_run(&in) != SC_OK) {
        count->failed++;
        FAIL("%s: %s: %s", file, node->name->text, setup_message(s));
        return;
    }
    if (in.out_count != node->out_count) {
        count->failed++;
        FAIL("%s: %s: %u results, recorded %u", file, op->name, in.out_count, node->out_count);
        return;
    }
    for (uint32_t i = 0; i < in.out_count; i++) {
        if (same_result(&in.outs[i], node->outs[i], known_symbols)) continue;
        count->failed++;
        fail_node(s, file, node, &in, i);
    }
}

static void check_graph(setup *s, const char *file, const sc_graph *graph, tally *count) {
    for (const sc_node *node = graph->first; node; node = node->next) {
        check_node(s, file, node, count);
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                check_graph(s, file, node->args[i].graph, count);
    }
}

static void check_file(const char *file) {
    setup s;
    setup_begin(&s);
    sc_program *program = sc_program_new(&s.ctx);
    sc_import_options options = {.method = {NULL, 0}};
    tally count = {0};
    if (CHECK_OK(sc_import_pt2(&s.ctx, setup_file(&s, file).source, &options, program))) {
        for (uint32_t m = 0; m < program->methods.count; m++)
            check_graph(&s, file, program->methods.data[m]->graph, &count);
        CHECK(count.checked + count.skipped > 0);
    } else {
        FAIL("%s: %s", file, setup_message(&s));
    }
    setup_end(&s);
}

TEST_CASES(specs_are_what_files_record) {
    static const char *const folders[] = {"models", "symbolic", "import", "../models"};
    REQUIRE_OK(sc_ops_init());
    for (size_t f = 0; f < SC_COUNT_OF(folders); f++) {
        size_t count;
        const char **files = test_list(folders[f], ".pt2", &count);
        for (size_t i = 0; i < count; i++)
            if (test_case("%s", files[i])) check_file(files[i]);
    }
}
