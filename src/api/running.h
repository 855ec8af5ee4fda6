// The program that a job runs, and the events of its runs. Private to src/api.
#ifndef SC_API_RUNNING_H
#define SC_API_RUNNING_H

#include "devtools/etdump/etdump.h"
#include "rt/rt.h"
#include "rt/train.h"

// An output rewritten row-major. The block is used again while it is large enough.
typedef struct sc_dense {
    void *data;
    uint64_t capacity;
} sc_dense;

typedef struct sc_running {
    sc_source *file;
    sc_rt_program *program;  // NULL: not opened
    sc_rt_method *method;    // NULL: not selected
    SC_VEC(sc_dense) dense;  // by output
    SC_VEC(sc_rt_trainer *) trainers;
    SC_VEC(sc_rt_sgd *) optimizers;  // NULL: closed
} sc_running;

typedef struct sc_job_tracer {
    sc_etdump *dump;      // the records
    sc_arena fetched;     // the dump that was fetched last
    uint32_t outputs[2];  // numbers of its files
    bool is_on, is_fetched;
} sc_job_tracer;

#endif
