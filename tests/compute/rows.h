// Shared by the tests of src/compute/variants.def: operands whose sums are exact in any order, and
// the comparison of every row that fits a record with the reference.
#ifndef ROWS_H
#define ROWS_H

#include "compute/compute.h"

enum { ROWS_MAX = 64 };

// The state of rows_pick: with the same one, the same numbers follow.
extern uint32_t rows_random;
int64_t rows_pick(int64_t low, int64_t high);
// Multiples of 1/8 from -2 to 2, of which every sum and product here is exact.
float *rows_floats(int64_t count);
float *rows_reals(int64_t count);                  // from -1 to 1, of which few are
int8_t *rows_bytes(int64_t count);                 // any, or only the highest and the lowest
int32_t *rows_ints(int64_t count, int32_t limit);  // in [-limit, limit)
float *rows_powers(int64_t count);                 // of two, from 2^-14 to 1

// Another grid for results of 8 bits after they have been rounded.
void rows_regrid(sc_record *record);

// The definition's results for `record`, `bytes` of them with gaps and all. `out` is where the
// record keeps the address of its results.
void *rows_expected(sc_record *record, void **out, size_t bytes);
// Every other row that fits must give the same bits, with one of the meanings that the dot product
// of 8-bit numbers may have: packed where it packs, as a whole, in ranges
// of tiles in backward order, and chosen by sc_variant_pick. Counts in `ran`, by row. False, with a
// failed check that names the row, when one does not.
bool rows_agree(sc_record *record, void **out, size_t bytes, uint32_t ran[ROWS_MAX]);
// The same for results whose gaps hold nothing: `count` floats that differ by no more than `bound`.
// In ranges, the bits are the same as before.
bool rows_are_close(sc_record *record, void **out, size_t count, float bound);
// One case for each row of the kind: that it fitted more than `least` records.
void rows_were_reached(sc_record_kind kind, const uint32_t ran[ROWS_MAX], uint32_t least);

#endif
