// The element-wise driver, for kernels that choose among rows by an argument (a rounding mode, an
// exponent) before they run one.
// Prefix: sc_pw_ and PW_ (pointwise).
#ifndef SC_POINTWISE_H
#define SC_POINTWISE_H

#include "kernels/iter.h"

typedef struct sc_pw_params {
    double real[3];
    int64_t integer[3];
    const char **limit;  // set by a loop that stops at a limit: the limit in words
} sc_pw_params;

// `n` elements of dense blocks; operands that a row does not use may be NULL.
typedef void (*sc_pw_loop)(void *out, const void *const *in, const sc_pw_params *params, int64_t n);

typedef enum sc_pw_kind {
    SC_PW_SAME,
    SC_PW_CHECKED,
    SC_PW_FLOAT,
    SC_PW_LIMITED,  // the same, and loops may stop at a limit
    SC_PW_TEST,
    SC_PW_LOGIC,
    SC_PW_INTEGER,
    SC_PW_CHOICE
} sc_pw_kind;

typedef struct sc_pw_row {
    sc_pw_kind kind;
    sc_pw_loop loops[SC_CLASS_COUNT];  // by compute class; NULL if the row does not have it
} sc_pw_row;

#define PW_SAME(name, ...)    extern const sc_pw_row sc_pw_##name;
#define PW_CHECKED(name, ...) extern const sc_pw_row sc_pw_##name;
#define PW_FLOAT(name, ...)   extern const sc_pw_row sc_pw_##name;
#define PW_TEST(name, ...)    extern const sc_pw_row sc_pw_##name;
#define PW_LOGIC(name, ...)   extern const sc_pw_row sc_pw_##name;
#define PW_INTEGER(name, ...) extern const sc_pw_row sc_pw_##name;
#include "kernels/pointwise.def"
extern const sc_pw_row sc_pw_where, sc_pw_masked_fill;

// Nanoseconds for an element in this class.
double sc_pointwise_cost(const sc_pw_row *row, sc_class class_);
// Runs a row; `arguments` as in PW_BIND. The out is the last argument of the call.
sc_status sc_pointwise_run(const sc_kernel_call *call, const sc_pw_row *row, const char *arguments);

#endif
