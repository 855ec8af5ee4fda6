// Reads formulas backwards (ops/formula.h): from the result of a call, instruction by instruction,
// to operands. Names stand for values: the first use binds a name, and every other use must be the
// same value. Numbers match numbers of the file, or constants filled with them. A formula is
// element-wise, on operands of one dtype that are broadcast like those of the one call.
#include <math.h>

#include "ops/forms.h"
#include "ops/kept.h"
#include "rt/rewrite/recognise/recognise.h"

typedef const sc_formula_node *node;

typedef struct match {
    sc_rt_search *s;
    const sc_formula *formula;
    sc_dtype dtype;  // the dtype of all results but truth values
    bool is_step;    // the caller checks the operands
    sc_evalue *values[SC_FORMULA_NAMES];
} match;

static const sc_kernel *const kernels[SC_FORM_COUNT] = {
#define OWN                                   NULL
#define KERNEL(name)                          &sc_k_##name
#define FORM(op, dtypes, known, kernel, text) SC_KEPT(op, [SC_FORM_##op##_##dtypes] = kernel, )
#include "ops/forms.def"
#undef KERNEL
#undef OWN
};

static bool is_value(match *m, sc_evalue *value, node n);

static bool has_dtype(const sc_evalue *value, sc_dtype dtype) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == dtype;
}

// --- Numbers -------------------------------------------------------------------------------------

// False if it is not a number.
static bool read_number(const match *m, node n, double *number) {
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_INT: *number = (double)n->i; return true;
    case SC_FORMULA_FLOAT: *number = n->f; return true;
    case SC_FORMULA_WORD:
        *number = 8.0 * sc_dtype_bytes(m->dtype) - 1;
        return n->code == SC_WORD_last_bit;
    default: return false;
    }
}

// 0.0 and -0.0 are different numbers.
static bool is_number(const match *m, const sc_evalue *value, double number) {
    return sc_rt_is_number(m->s, value, number) &&
           (value->tag != SC_EVALUE_DOUBLE || signbit(value->d) == signbit(number));
}

// Is it a constant tensor of one element with that value?
static bool is_filled(const match *m, const sc_evalue *value, double number) {
    if (!has_dtype(value, m->dtype) || !value->tensor->is_constant || value->tensor->numel != 1)
        return false;
    const double held = sc_tensor_real(value->tensor, 0);
    return held == number && signbit(held) == signbit(number);
}

// --- Calls ---------------------------------------------------------------------------------------

// Does the argument have the value that a call has for an omitted one?
static bool is_default(const match *m, const sc_evalue *value, const sc_param *param) {
    switch (param->default_kind) {
    case SC_DEFAULT_NONE: return value->tag == SC_EVALUE_NONE;
    case SC_DEFAULT_INT:
    case SC_DEFAULT_BOOL: return is_number(m, value, (double)param->default_int);
    case SC_DEFAULT_FLOAT: return is_number(m, value, param->default_float);
    default: return false;
    }
}

static bool is_arg(match *m, sc_evalue *value, const sc_param *param, node n) {
    double number;
    if (!n) return is_default(m, value, param);
    if (!read_number(m, n, &number)) return is_value(m, value, n);
    return param->type == SC_PARAM_TENSOR ? is_filled(m, value, number)
                                          : is_number(m, value, number);
}

static bool are_args(match *m, const sc_kernel_call *call, node n) {
    const sc_schema *schema = n->op->schema;
    for (uint32_t i = 0, at = 0; i < schema->param_count; i++) {
        if (!sc_op_out_keeps(n->op, i)) continue;
        if (!is_arg(m, call->args[at++], &schema->params[i], i < n->count ? n->items[i] : NULL))
            return false;
    }
    return true;
}

static bool is_call(match *m, const sc_evalue *value, node n) {
    if (!has_dtype(value, sc_op_gives_truth(n->op) ? SC_DTYPE_BOOL : m->dtype)) return false;
    const sc_kernel_call *call = sc_rt_made_by(m->s, value, (sc_op_id)n->op->id);
    return call && are_args(m, call, n);
}

// --- Expressions ---------------------------------------------------------------------------------

static bool is_name(match *m, sc_evalue *value, uint32_t index) {
    const bool is_param = index < m->formula->param_count;
    if (m->values[index]) return m->values[index] == value;
    if (is_param ? !m->is_step && !has_dtype(value, m->dtype)
                 : !is_value(m, value, m->formula->definitions[index]))
        return false;
    m->values[index] = value;
    return true;
}

// Is the formula its only reader?
static bool is_alone(const match *m, const sc_evalue *value) {
    const sc_rt_use *use = &m->s->o->uses[sc_rt_value_index(m->s->o->m, value)];
    return use->reads == 1 && !use->is_output;
}

static bool is_word(match *m, sc_evalue *value, node n) {
    double number;
    switch ((sc_formula_word)n->code) {
    case SC_WORD_cast:
    case SC_WORD_tensor:
    case SC_WORD_final: return is_value(m, value, n->items[0]);
    case SC_WORD_once: return is_alone(m, value) && is_value(m, value, n->items[0]);
    case SC_WORD_scalar: return read_number(m, n->items[0], &number) && is_filled(m, value, number);
    default: return false;
    }
}

// The branch that applies: is_float is the only test that a form may have here.
static node chosen(const match *m, node n) {
    const bool is_float = sc_dtype_is_float(m->dtype);
    const bool asks = n->items[0]->kind == SC_FORMULA_WORD && n->items[0]->code == SC_WORD_is_float;
    return asks ? n->items[is_float ? 1 : 2] : NULL;
}

static bool is_if(match *m, sc_evalue *value, node n) {
    const node branch = chosen(m, n);
    return branch && is_value(m, value, branch);
}

// The recursion is as deep as the text.
static bool is_value(match *m, sc_evalue *value, node n) {
    switch ((sc_formula_kind)n->kind) {
    case SC_FORMULA_CALL: return is_call(m, value, n);
    case SC_FORMULA_WORD: return is_word(m, value, n);
    case SC_FORMULA_NAME: return is_name(m, value, n->index);
    case SC_FORMULA_BLOCK: return is_value(m, value, n->items[n->count - 1]);
    case SC_FORMULA_IF: return is_if(m, value, n);
    case SC_FORMULA_NONE: return value->tag == SC_EVALUE_NONE;
    case SC_FORMULA_TEXT:
        return value->tag == SC_EVALUE_STRING && sc_str_equal(value->str, n->text);
    default: return false;
    }
}

// --- Operators -----------------------------------------------------------------------------------

// The first operand of a test determines the dtype, and otherwise the result does. SC_DTYPE_NONE:
// no form has it.
static sc_dtype dtype_of(const sc_kernel_call *root) {
    const sc_evalue *out = root->args[root->arg_count - 1];
    const bool is_test = sc_op_gives_truth(root->op);
    const sc_evalue *like = is_test ? root->args[0] : out;
    if (like->tag != SC_EVALUE_TENSOR || (is_test && !has_dtype(out, SC_DTYPE_BOOL)))
        return SC_DTYPE_NONE;
    return (sc_dtype)like->tensor->dtype;
}

// Parses the formula on first use: most programs have no call for it.
static bool is_form(match *m, sc_form_id id, const sc_kernel_call *root) {
    m->formula = sc_form_formula(id);
    m->s->parts.count = 0;
    return m->formula && are_args(m, root, sc_formula_result(m->formula));
}

// The one argument that the text itself states.
static const sc_evalue *said_argument(const match *m) {
    if (m->formula->given_count == 0) return NULL;
    sc_evalue *said = sc_new(m->s->o->ctx->scratch, sc_evalue);
    *said = (sc_evalue){.tag = SC_EVALUE_STRING, .str = m->formula->given[0].is->text};
    return said;
}

static void find(const match *m, sc_form_id id, sc_rt_found *found) {
    const sc_op_id op = sc_form_get(id)->op;
    *found = (sc_rt_found){.op = op,
                           .kernel = kernels[id] ? kernels[id] : sc_kernel_get(op),
                           .ends_in = said_argument(m)};
    for (uint32_t i = 0; i < m->formula->param_count && i < SC_RT_FOUND_ARGS; i++)
        if (m->values[i]) found->args[found->arg_count++] = m->values[i];
}

static bool is_looked_for(const sc_form *form, bool is_late) {
    return form->text && form->known == (is_late ? SC_FORM_LATE : SC_FORM_EARLY);
}

void sc_rt_formula_roots(bool is_late, bool *roots) {
    for (sc_form_id id = 0; id < SC_FORM_COUNT; id++)
        if (is_looked_for(sc_form_get(id), is_late)) roots[sc_form_get(id)->root] = true;
}

bool sc_rt_is_formula(sc_rt_search *s, const sc_kernel_call *root, bool is_late,
                      sc_rt_found *found) {
    const sc_dtype dtype = dtype_of(root);
    for (sc_form_id id = 0; id < SC_FORM_COUNT && dtype != SC_DTYPE_NONE; id++) {
        const sc_form *form = sc_form_get(id);
        match m = {.s = s, .dtype = dtype};
        if (!is_looked_for(form, is_late) || form->root != root->op->id ||
            !sc_form_takes(form, dtype) || !is_form(&m, id, root))
            continue;
        find(&m, id, found);
        return true;
    }
    return false;
}

bool sc_rt_is_step(sc_rt_search *s, sc_evalue *value, sc_step step, sc_dtype dtype,
                   sc_evalue **operands) {
    match m = {.s = s, .formula = sc_step_formula(step), .dtype = dtype, .is_step = true};
    if (!m.formula || !is_value(&m, value, m.formula->root)) return false;
    memcpy(operands, m.values, m.formula->param_count * sizeof *operands);
    return true;
}
