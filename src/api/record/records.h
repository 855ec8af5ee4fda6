// Records that a job keeps, and the files that are written of them. Private to src/api.
// Prefix: sc_job_, one job.
#ifndef SC_API_RECORDS_H
#define SC_API_RECORDS_H

#include "api/job.h"

// Record `number`; SC_ERR_NOT_FOUND when there is none.
sc_status sc_job_record(sc_job *job, uint32_t number, sc_etrecord **out);
// Fills the record that the job generates, if it does: with what was opened, the edge program
// `edge`, and `transformed`, which is `edge` where no pass ran on it.
sc_status sc_job_fill_record(sc_job *job, uint32_t record, uint32_t edge, uint32_t transformed);
// The number + 1 of the record that the job generates, which it forgets with this.
uint32_t sc_job_take_generating(sc_job *job);

// A file of a record: on memory of its own, and on that of the record's values.
sc_output sc_job_record_output(const sc_job *job, uint32_t record, sc_str name);
// Adds the file if `status` is SC_OK, else lets go of it; `status` is the result.
sc_status sc_job_keep_output(sc_job *job, sc_status status, sc_output *output, uint32_t *number);

#endif
