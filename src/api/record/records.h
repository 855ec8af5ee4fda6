// Records that a job keeps, and the files that are written from them. Private to src/api.
// Prefix: sc_job_ finds, fills or writes a record of one job.
#ifndef SC_API_RECORDS_H
#define SC_API_RECORDS_H

#include "api/job/output.h"
#include "devtools/etrecord.h"

// Record `number`; SC_ERR_NOT_FOUND if there is none.
sc_status sc_job_record(sc_job *job, uint32_t number, sc_etrecord **out);
// Fills the record that the job generates, if there is one. It gets the opened program, the edge
// program `edge`, and `transformed`, which is `edge` if no pass ran on it.
sc_status sc_job_fill_record(sc_job *job, uint32_t record, uint32_t edge, uint32_t transformed);
// Takes the number + 1 of the record that the job generates, and resets it.
uint32_t sc_job_take_generating(sc_job *job);

// A file of a record, on its own memory and on that of the record's values.
sc_output sc_job_record_output(const sc_job *job, uint32_t record, sc_str name);
// Adds the file if `status` is SC_OK, else frees it; returns `status`.
sc_status sc_job_keep_output(sc_job *job, sc_status status, sc_output *output, uint32_t *number);

#endif
