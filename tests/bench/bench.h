// A small bench harness: BENCH(name) { ... } registers a group; inside it bench_run times a
// function and prints the best of many repetitions. `sc_bench [--json] [--seconds 0.2] [filter...]`
// runs the groups and rows whose names contain a filter.
#ifndef BENCH_H
#define BENCH_H

#include "base/base.h"

typedef struct bench_group {
    const char *name;
    void (*run)(void);
    struct bench_group *next;
} bench_group;

void bench_register(bench_group *group);

#define BENCH(group_name)                                                                  \
    static void bench_##group_name(void);                                                  \
    static bench_group bench_group_##group_name = {#group_name, bench_##group_name, NULL}; \
    __attribute__((constructor)) static void bench_register_##group_name(void) {           \
        bench_register(&bench_group_##group_name);                                         \
    }                                                                                      \
    static void bench_##group_name(void)

// Times `run(user)`. `flops` per call gives GF/s as well; 0 for none. Returns milliseconds per
// call, or 0 when a filter leaves the row out.
double bench_run(const char *row, double flops, void (*run)(void *user), void *user);
// True when no filter leaves the row out: to skip preparing what will not run.
bool bench_wanted(const char *row);
double bench_now_ms(void);
// The value after `--name` on the command line, or NULL.
const char *bench_option(const char *name);

#endif
