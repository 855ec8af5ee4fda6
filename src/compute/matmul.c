// Functions that all rows for matrix products share.
#include "compute/matmul.h"

bool sc_matmul_is_plain(const sc_matmul *mm) {
    const sc_matrix *addend = &mm->addend;
    bool is_bias = addend->row == 0 && (addend->column == 1 || mm->n == 1);
    return mm->alpha == 1 && (!addend->data || (mm->beta == 1 && is_bias));
}

bool sc_matmul_blocks_fit(const sc_record *record) {
    const sc_weight_quant *weights = &record->weights;
    if (!weights->float_scales) return true;
    return (record->weight == SC_DTYPE_I8 || record->weight == SC_DTYPE_I4) &&
           !record->finish.scale && weights->block > 0 &&
           sc_matmul_of(record)->k % weights->block == 0;
}
