// Element-wise kernels over complex numbers, for files that call them. Lowering writes complex
// numbers as pairs of real ones instead. Prefix: sc_complex_ takes complex operands.
#ifndef SC_KERNELS_COMPLEX_H
#define SC_KERNELS_COMPLEX_H

#include "kernels/pointwise.h"

// Is an operand complex?
bool sc_complex_is_given(const sc_kernel_call *call);
// Runs a row that has a complex form: absolute value, sum, product.
sc_status sc_complex_pointwise(const sc_kernel_call *call, const sc_pw_row *row);

#endif
