// Values of a program as the host sees them: JSON, in which the bytes of a tensor are a range of
// this memory. Private to src/backends/host/run.
// Prefix: sc_host_ (host of the library) asks its code; here it writes values for a question.
#ifndef SC_HOST_VALUES_H
#define SC_HOST_VALUES_H

#include "backends/host/host.h"
#include "format/json.h"
#include "kernels/kernel.h"

// The bytes that a tensor has at its current sizes.
size_t sc_host_tensor_bytes(const sc_tensor *tensor);
// Members of an object that is open: kind, dtype, shape, and `row_major` as the bytes.
void sc_host_put_tensor(sc_json_writer *w, const sc_tensor *tensor, const void *row_major);
// Writes a value. Tensors in another order than row-major are copied to `arena`.
void sc_host_add_value(sc_json_writer *w, sc_arena *arena, const sc_evalue *value);
// "[2, 3]"
sc_str sc_host_sizes_text(sc_arena *arena, const int64_t *sizes, uint32_t rank);

#endif
