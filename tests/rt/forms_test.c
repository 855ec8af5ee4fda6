// Every row of forms.def: what lowering writes out for the official runtime becomes one call again
// when it is loaded, if the row says so, and otherwise runs as written.
#include "harness.h"
#include "ops/forms.h"
#include "rt/expansion.h"

static const char *dtype_of(const sc_form *form) {
    switch (form->dtypes) {
    case SC_FORM_FLOATS: return "f64";  // the official kernels are right about most others
    case SC_FORM_UNSIGNED: return "u8";
    default: return "i64";
    }
}

// A call on inputs, with the arguments that the row says. Second operands of integers are odd, and
// so never 0.
static char *call_of(const sc_form *form, const sc_formula *formula) {
    const sc_op *op = sc_op_get(form->op);
    const char *dtype = dtype_of(form);
    char *args = test_format("%s", op->schema->param_count > 1 ? "%odd, %second" : "%odd");
    for (uint32_t i = 0; i < formula->given_count; i++)
        args = test_format("%s, " SC_STR_FMT "=\"" SC_STR_FMT "\"", args,
                           SC_STR_ARG(op->schema->params[formula->given[i].param].name),
                           SC_STR_ARG(formula->given[i].is->text));
    return test_format("method forward {\n"
                       "  input %%odd: %s[10, 11]\n"
                       "  input %%odder: %s[10, 11]\n"
                       "  %%second: %s[10, 11] = aten::%s\n"
                       "  %%y: %s[10, 11] = %s(%s)\n"
                       "  return %%y\n"
                       "}\n",
                       dtype, dtype, dtype,
                       form->dtypes == SC_FORM_FLOATS ? "neg(%odder)"
                                                      : "bitwise_or.Scalar(%odder, 1)",
                       sc_op_gives_truth(op) ? "b8" : dtype, op->name, args);
}

TEST_CASES(a_form_is_known_again_where_its_row_says_so) {
    REQUIRE_OK(sc_ops_init());
    for (sc_form_id id = 0; id < SC_FORM_COUNT; id++) {
        const sc_form *form = sc_form_get(id);
        const sc_op *op = sc_op_get(form->op);
        if (!test_case("%s %s", op->name, dtype_of(form))) continue;
        char *text = expansion_of(call_of(form, sc_form_formula(id)));
        const sc_formula_node *result = sc_formula_result(sc_form_formula(id));
        const sc_op_id end = result ? (sc_op_id)result->op->id : SC_OP_where_self;
        const uint32_t gone = expansion_gone_exactly(text, end);
        if ((gone > 0) != (form->known != SC_FORM_NEVER))
            FAIL("%s: %u calls are gone", op->name, gone);
    }
}
