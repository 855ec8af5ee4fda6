// The rows of forms.def; formulas are parsed when they are first asked for.
#include "ops/forms.h"

#include "ops/kept.h"

static const sc_form forms[SC_FORM_COUNT] = {
#define EARLY(op) SC_FORM_EARLY, SC_OP_##op
#define LATE(op)  SC_FORM_LATE, SC_OP_##op
#define NEVER     SC_FORM_NEVER, SC_OP_FOREIGN
#define FORM(op, dtypes, known, kernel, text) \
    SC_KEPT(op, [SC_FORM_##op##_##dtypes] = {SC_OP_##op, SC_FORM_##dtypes, known, text}, )
#include "ops/forms.def"
#undef NEVER
#undef LATE
#undef EARLY
};

static const struct {
    const char *params, *text;
} steps[SC_STEP_COUNT] = {
#define STEP(id, params, text) [SC_STEP_##id] = {params, text},
#include "ops/forms.def"
};

const sc_form *sc_form_get(sc_form_id id) { return &forms[id]; }

bool sc_form_takes(const sc_form *form, sc_dtype dtype) {
    const bool is_integer = sc_dtype_is_integral(dtype, false);
    switch (form->dtypes) {
    case SC_FORM_FLOATS: return sc_dtype_is_float(dtype);
    case SC_FORM_INTEGERS: return is_integer;
    case SC_FORM_SIGNED: return is_integer && dtype != SC_DTYPE_U8;
    case SC_FORM_UNSIGNED: return dtype == SC_DTYPE_U8;
    case SC_FORM_INTEGERS_AND_BOOL: return is_integer || dtype == SC_DTYPE_BOOL;
    }
    return false;
}

const sc_formula *sc_form_formula(sc_form_id id) {
    static const sc_formula *formulas[SC_FORM_COUNT];
    if (!formulas[id] && forms[id].text) {
        const sc_formula_names names = sc_formula_names_of(sc_op_get(forms[id].op));
        formulas[id] = sc_formula_make(forms[id].text, &names);
    }
    return formulas[id];
}

const sc_formula *sc_step_formula(sc_step step) {
    static const sc_formula *formulas[SC_STEP_COUNT];
    if (!formulas[step]) {
        const sc_formula_names names = sc_formula_names_in(steps[step].params);
        formulas[step] = sc_formula_make(steps[step].text, &names);
    }
    return formulas[step];
}
