// The ETRecords that a job keeps. Private to src/api.
#ifndef SC_API_JOB_RECORDS_H
#define SC_API_JOB_RECORDS_H

#include "api/job/call_memory.h"
#include "devtools/etrecord.h"

enum { SC_RECORD_VALUES = 2 };  // inputs, outputs

// The memory of a record's values, if the host has given them; else NULL.
typedef struct sc_record_memory {
    sc_call_memory *of_values[SC_RECORD_VALUES];
} sc_record_memory;

typedef struct sc_job_records {
    SC_VEC(sc_etrecord *) items;
    SC_VEC(sc_record_memory) memories;  // of each
    uint32_t generating;  // number + 1 of the record that the next to_edge fills; 0: no record
} sc_job_records;

#endif
