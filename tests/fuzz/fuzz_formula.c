// Any text as a formula of two parameters. The tree of a text that parses has indices and counts
// that readers need not check.
#include "ops/formula.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_items(const sc_formula *formula, const sc_formula_node *n);

static void check_node(const sc_formula *formula, const sc_formula_node *n) {
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_CALL:
        SC_ASSERT(n->op && n->count <= n->op->schema->param_count);
        check_items(formula, n);
        break;
    case SC_FORMULA_WORD:
        SC_ASSERT(n->code < SC_WORD_COUNT);
        check_items(formula, n);
        break;
    case SC_FORMULA_BLOCK:
    case SC_FORMULA_LIST:
    case SC_FORMULA_EQUAL:
    case SC_FORMULA_IF:
    case SC_FORMULA_ITEM: check_items(formula, n); break;
    case SC_FORMULA_DEFINITION:
        SC_ASSERT(formula->definitions[n->index] == n->items[0]);
        check_items(formula, n);
        break;
    case SC_FORMULA_NAME: SC_ASSERT(n->index < formula->name_count); break;
    default: break;
    }
}

static void check_items(const sc_formula *formula, const sc_formula_node *n) {
    SC_ASSERT(n->count <= SC_FORMULA_NAMES + 1);
    for (uint32_t i = 0; i < n->count; i++)
        if (n->items[i]) check_node(formula, n->items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_formula formula;
    const sc_formula_names names = sc_formula_names_in("self, other");
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    if (sc_ops_init() == SC_OK && sc_formula_parse(&ctx, &arena, (sc_str){(const char *)data, size},
                                                   &names, &formula) == SC_OK) {
        SC_ASSERT(formula.given_count <= SC_FORMULA_GIVEN);
        check_node(&formula, formula.root);
        (void)sc_formula_result(&formula);
    }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
