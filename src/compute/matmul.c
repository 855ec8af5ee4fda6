// Functions that all rows for matrix products share.
#include "compute/matmul.h"

bool sc_matmul_is_plain(const sc_matmul *mm) {
    const sc_matrix *addend = &mm->addend;
    bool is_bias = addend->row == 0 && (addend->column == 1 || mm->n == 1);
    return mm->alpha == 1 && (!addend->data || (mm->beta == 1 && is_bias));
}
