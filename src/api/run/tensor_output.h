// Tensors of the runtime as they cross the border: row-major. Private to src/api.
// Prefix: sc_job_ copies a tensor into the memory of the job.
#ifndef SC_API_RUN_TENSOR_OUTPUT_H
#define SC_API_RUN_TENSOR_OUTPUT_H

#include "api/run/running.h"

// A view of the tensor, or, if its layout is another one, of a copy in the job's block number
// `index`, that of an output.
sc_status sc_job_tensor_output(sc_job *job, uint32_t index, const sc_tensor *tensor, sc_io *out);

#endif
