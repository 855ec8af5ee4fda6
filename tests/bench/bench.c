#define _POSIX_C_SOURCE 199309L  // clock_gettime

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    bench_group *groups;
    const char *group;
    int argc;
    char **argv;
    bool json, first;
    double seconds;
} state;

void bench_register(bench_group *group) {
    group->next = state.groups;
    state.groups = group;
}

double bench_now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

const char *bench_option(const char *name) {
    for (int i = 1; i + 1 < state.argc; i++) {
        if (strncmp(state.argv[i], "--", 2) == 0 && strcmp(state.argv[i] + 2, name) == 0)
            return state.argv[i + 1];
    }
    return NULL;
}

bool bench_wanted(const char *row) {
    bool any = false;
    for (int i = 1; i < state.argc; i++) {
        const char *arg = state.argv[i];
        if (strcmp(arg, "--json") == 0) continue;
        if (strncmp(arg, "--", 2) == 0) {
            i++;  // an option's value
            continue;
        }
        any = true;
        if (strstr(state.group, arg) || strstr(row, arg)) return true;
    }
    return !any;
}

static void print_row(const char *row, double ms, double flops) {
    if (state.json) {
        printf("%s\n {\"group\": \"%s\", \"row\": \"%s\", \"ms\": %.6g", state.first ? "[" : ",",
               state.group, row, ms);
        if (flops > 0) printf(", \"gflops\": %.4g", flops / ms / 1e6);
        printf("}");
        state.first = false;
    } else if (flops > 0) {
        printf("%-10s %-34s %10.4f ms %8.2f GF/s\n", state.group, row, ms, flops / ms / 1e6);
    } else {
        printf("%-10s %-34s %10.4f ms\n", state.group, row, ms);
    }
    fflush(stdout);
}

double bench_run(const char *row, double flops, void (*run)(void *user), void *user) {
    if (!bench_wanted(row)) return 0;
    run(user);  // warm
    const double until = bench_now_ms() + state.seconds * 1e3;
    double best = 1e30;
    uint32_t batch = 1;
    for (int i = 0; i < 5 || bench_now_ms() < until; i++) {
        double begin = bench_now_ms();
        for (uint32_t n = 0; n < batch; n++) run(user);
        double ms = (bench_now_ms() - begin) / batch;
        if (ms * batch < 0.5) batch *= 2;  // too short to time
        best = ms < best ? ms : best;
    }
    print_row(row, best, flops);
    return best;
}

int main(int argc, char **argv) {
    state.argc = argc;
    state.argv = argv;
    state.first = true;
    const char *seconds = bench_option("seconds");
    state.seconds = seconds ? atof(seconds) : 0.2;
    for (int i = 1; i < argc; i++) state.json = state.json || strcmp(argv[i], "--json") == 0;
    for (bench_group *group = state.groups; group; group = group->next) {
        state.group = group->name;
        group->run();
    }
    if (state.json) printf("%s\n", state.first ? "[]" : "\n]");
    return 0;
}
