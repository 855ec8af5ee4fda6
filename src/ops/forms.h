// The table of forms.def, which lowering and loading share. sc_form_ is a row of an operator,
// sc_step_ a formula that several calls of an expansion are.
#ifndef SC_FORMS_H
#define SC_FORMS_H

#include "ops/formula.h"

typedef enum sc_form_dtypes {
    SC_FORM_FLOATS,
    SC_FORM_INTEGERS,
    SC_FORM_SIGNED,
    SC_FORM_UNSIGNED,
    SC_FORM_INTEGERS_AND_BOOL
} sc_form_dtypes;

typedef enum sc_form_known { SC_FORM_EARLY, SC_FORM_LATE, SC_FORM_NEVER } sc_form_known;

typedef struct sc_form {
    sc_op_id op;
    sc_form_dtypes dtypes;
    sc_form_known known;
    sc_op_id root;  // the call that the formula ends with, unless known is NEVER
    const char *text;
} sc_form;

// Rows in the order of the file.
typedef enum sc_form_id {
#define FORM(op, dtypes, known, kernel, text) SC_FORM_##op##_##dtypes,
#include "ops/forms.def"
    SC_FORM_COUNT
} sc_form_id;

typedef enum sc_step {
#define STEP(id, params, text) SC_STEP_##id,
#include "ops/forms.def"
    SC_STEP_COUNT
} sc_step;

const sc_form *sc_form_get(sc_form_id id);
bool sc_form_takes(const sc_form *form, sc_dtype dtype);
// The formula of a row, over the parameters of its operator; and of a step, over its own.
// NULL if this build leaves out an operator of it.
const sc_formula *sc_form_formula(sc_form_id id);
const sc_formula *sc_step_formula(sc_step step);

#endif
