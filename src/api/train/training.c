// Training: a job's trainers, one for each method that was asked for, and their optimizers.
#include "api/run/tensor_output.h"
#include "rt/train.h"

typedef struct training {
    SC_VEC(sc_rt_trainer *) trainers;
    SC_VEC(sc_rt_sgd *) optimizers;  // NULL: closed
} training;

static void close_training(sc_job *job) {
    const training *all = job->training.state;
    for (uint32_t i = 0; i < all->optimizers.count; i++)
        if (all->optimizers.data[i]) sc_rt_sgd_close(all->optimizers.data[i]);
    for (uint32_t i = 0; i < all->trainers.count; i++) sc_rt_trainer_close(all->trainers.data[i]);
}

// The first call that asks for it makes it, empty.
static training *training_of(sc_job *job) {
    if (!job->training.state)
        job->training = (sc_job_part){sc_new(&job->arena, training), close_training};
    return job->training.state;
}

static sc_status find_trainer(sc_job *job, uint32_t number, sc_rt_trainer **out) {
    if (number >= training_of(job)->trainers.count)
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "there is no trainer %u", number);
    *out = training_of(job)->trainers.data[number];
    return SC_OK;
}

static sc_status find_sgd(sc_job *job, uint32_t number, sc_rt_sgd **out) {
    if (number >= training_of(job)->optimizers.count || !training_of(job)->optimizers.data[number])
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "there is no optimizer %u", number);
    *out = training_of(job)->optimizers.data[number];
    return SC_OK;
}

// --- Trainers ------------------------------------------------------------------------------------

// The trainer of a method stays until the job closes.
static sc_status trainer_of(sc_job *job, sc_str method, uint32_t *number) {
    sc_rt_trainer *trainer;
    sc_rt_method *loaded;
    SC_TRY(sc_rt_method_load(&job->ctx, sc_job_running(job)->program, method, &loaded));
    for (*number = 0; *number < training_of(job)->trainers.count; ++*number)
        if (sc_rt_trainer_method(training_of(job)->trainers.data[*number]) == loaded) return SC_OK;
    SC_TRY(sc_rt_trainer_open(&job->ctx, sc_job_running(job)->program, method, &trainer));
    sc_vec_push(&job->arena, &training_of(job)->trainers, trainer);
    return SC_OK;
}

static sc_str describe(sc_job *job, const sc_rt_trainer *trainer) {
    sc_sb text = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_i64(&w, "results", sc_rt_trainer_result_count(trainer));
    sc_json_put_array(&w, "parameters");
    for (uint32_t i = 0; i < sc_rt_trainer_count(trainer); i++)
        sc_json_add_str(&w, sc_rt_trainer_name(trainer, i));
    sc_json_end_array(&w);
    sc_json_end_object(&w);
    return sc_sb_str(&text);
}

sc_status sc_train_open(sc_job *job, sc_str method, uint32_t *trainer, sc_str *json) {
    (void)sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    SC_TRY(trainer_of(job, method, trainer));
    *json = describe(job, training_of(job)->trainers.data[*trainer]);
    return SC_OK;
}

sc_status sc_train_keep(sc_job *job, uint32_t trainer) {
    sc_rt_trainer *found;
    (void)sc_job_begin(job);
    SC_TRY(find_trainer(job, trainer, &found));
    return sc_rt_trainer_keep(&job->ctx, found);
}

static sc_status gradient_output(sc_job *job, const sc_rt_trainer *trainer, uint32_t index,
                                 sc_io *out) {
    static const uint8_t ROW_MAJOR[SC_RANK_MAX] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
    const sc_tensor *parameter = sc_rt_trainer_parameter(trainer, index);
    const void *data = sc_rt_trainer_gradient(trainer, index);
    if (!data)
        return sc_fail(&job->ctx, SC_ERR_STATE, "Call forwardBackward() first.",
                       "there are no gradients yet");
    *out = (sc_io){.kind = SC_KIND_TENSOR,
                   .dtype = parameter->dtype,
                   .rank = parameter->rank,
                   .sizes = parameter->sizes,
                   .dim_order = ROW_MAJOR,
                   .data = data};
    out->bytes = (uint64_t)parameter->numel * sc_dtype_bytes((sc_dtype)parameter->dtype);
    return SC_OK;
}

sc_status sc_train_tensor(sc_job *job, uint32_t trainer, uint32_t index, bool is_gradient,
                          sc_io *out) {
    sc_rt_trainer *found;
    (void)sc_job_begin(job);
    SC_TRY(find_trainer(job, trainer, &found));
    const uint32_t count = sc_rt_trainer_count(found);
    if (index >= count)
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "there is no parameter %u", index);
    if (is_gradient) return gradient_output(job, found, index, out);
    *out = (sc_io){.kind = SC_KIND_NONE};
    return sc_job_tensor_output(job, sc_rt_trainer_result_count(found) + count + index,
                                sc_rt_trainer_parameter(found, index), out);
}

sc_status sc_train_set(sc_job *job, uint32_t trainer, uint32_t index, const void *data,
                       uint64_t bytes) {
    sc_rt_trainer *found;
    (void)sc_job_begin(job);
    SC_TRY(find_trainer(job, trainer, &found));
    if (index >= sc_rt_trainer_count(found))
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "there is no parameter %u", index);
    return sc_rt_trainer_set(&job->ctx, found, index, data, bytes);
}

// --- Optimizers ----------------------------------------------------------------------------------

// Numbers of closed ones come again.
static uint32_t free_number(sc_job *job) {
    for (uint32_t i = 0; i < training_of(job)->optimizers.count; i++)
        if (!training_of(job)->optimizers.data[i]) return i;
    sc_vec_push(&job->arena, &training_of(job)->optimizers, NULL);
    return training_of(job)->optimizers.count - 1;
}

sc_status sc_train_sgd(sc_job *job, uint32_t trainer, const sc_sgd *options, uint32_t *optimizer) {
    sc_rt_trainer *found;
    sc_rt_sgd *sgd;
    (void)sc_job_begin(job);
    SC_TRY(find_trainer(job, trainer, &found));
    const sc_rt_sgd_options all = {.lr = options->lr,
                                   .momentum = options->momentum,
                                   .dampening = options->dampening,
                                   .weight_decay = options->weight_decay,
                                   .nesterov = options->nesterov};
    SC_TRY(sc_rt_sgd_open(&job->ctx, found, &all, &sgd));
    *optimizer = free_number(job);
    training_of(job)->optimizers.data[*optimizer] = sgd;
    return SC_OK;
}

sc_status sc_train_step(sc_job *job, uint32_t optimizer) {
    sc_rt_sgd *sgd;
    (void)sc_job_begin(job);
    SC_TRY(find_sgd(job, optimizer, &sgd));
    return sc_rt_sgd_step(&job->ctx, sgd);
}

void sc_train_close(sc_job *job, uint32_t optimizer) {
    if (optimizer >= training_of(job)->optimizers.count ||
        !training_of(job)->optimizers.data[optimizer])
        return;
    sc_rt_sgd_close(training_of(job)->optimizers.data[optimizer]);
    training_of(job)->optimizers.data[optimizer] = NULL;
}
