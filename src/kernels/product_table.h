// The kernel of a product with a table of few bits that loading puts in the place of the table's
// widening, its transposition and the product. It takes (input, table, scales, out), or (input,
// table, scales, bias, out).
// Prefix: sc_product_table_ is about such a call.
#ifndef SC_KERNELS_PRODUCT_TABLE_H
#define SC_KERNELS_PRODUCT_TABLE_H

#include "kernels/kernel.h"

typedef struct sc_product_table_form {
    uint8_t bits;  // of an integer: 4, two in a byte with the even one in the high half, or 8
} sc_product_table_form;

extern const sc_kernel sc_k_product_table;
// Can the kernel compute the call with the largest sizes, which its operands have at load?
bool sc_product_table_fits(const sc_kernel_call *call);

#endif
