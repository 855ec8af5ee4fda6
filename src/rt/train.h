// Training on the device: the parameters of a method that computes their gradients, the gradients
// of its last run, and an optimizer. The method runs like any other; constant methods of the file
// say which of its outputs are gradients and parameters (core/training.h).
// Prefixes: sc_rt_trainer_ is a method with its gradients, sc_rt_sgd_ an optimizer (stochastic
// gradient descent).
#ifndef SC_RT_TRAIN_H
#define SC_RT_TRAIN_H

#include "rt/rt.h"

typedef struct sc_rt_trainer sc_rt_trainer;
typedef struct sc_rt_sgd sc_rt_sgd;

// Loads the method and finds its parameters. Close it before the program. SC_ERR_NOT_FOUND when the
// method has no gradients, SC_ERR_CORRUPT when the file describes them wrongly, SC_ERR_UNSUPPORTED
// when a parameter cannot be written.
sc_status sc_rt_trainer_open(sc_ctx *ctx, sc_rt_program *program, sc_str method,
                             sc_rt_trainer **out);
void sc_rt_trainer_close(sc_rt_trainer *trainer);

sc_rt_method *sc_rt_trainer_method(const sc_rt_trainer *trainer);
// Outputs of the method before the gradients: the losses and the user's own.
uint32_t sc_rt_trainer_result_count(const sc_rt_trainer *trainer);
uint32_t sc_rt_trainer_count(const sc_rt_trainer *trainer);  // of parameters
sc_str sc_rt_trainer_name(const sc_rt_trainer *trainer, uint32_t index);
// The parameter itself, in the program's memory.
const sc_tensor *sc_rt_trainer_parameter(const sc_rt_trainer *trainer, uint32_t index);
// Copies the gradients that the last run has left in the outputs. On failure, SC_ERR_CORRUPT, none
// is kept.
sc_status sc_rt_trainer_keep(sc_ctx *ctx, sc_rt_trainer *trainer);
// Replaces the elements of a parameter, row-major. SC_ERR_ARGUMENT unless there are as many bytes
// as the parameter has.
sc_status sc_rt_trainer_set(sc_ctx *ctx, sc_rt_trainer *trainer, uint32_t index, const void *data,
                            uint64_t bytes);
// The kept gradient, row-major; NULL before the first one is kept.
const void *sc_rt_trainer_gradient(const sc_rt_trainer *trainer, uint32_t index);

// Stochastic gradient descent, as ExecuTorch's optimizer of that name computes it.
typedef struct sc_rt_sgd_options {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
} sc_rt_sgd_options;

// Momentum begins with the first step. Close it before the trainer.
sc_status sc_rt_sgd_open(sc_ctx *ctx, sc_rt_trainer *trainer, const sc_rt_sgd_options *options,
                         sc_rt_sgd **out);
void sc_rt_sgd_close(sc_rt_sgd *sgd);
// Moves every parameter against its kept gradient. SC_ERR_STATE before a gradient is kept.
sc_status sc_rt_sgd_step(sc_ctx *ctx, sc_rt_sgd *sgd);

#endif
