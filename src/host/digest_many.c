/* Many digests, in several threads when the options ask for them. */
#include <pthread.h>
#include <stdatomic.h>

#include "../call/lanes.h"
#include "../core/error.h"

/* Texts that a thread takes at a time: enough for its lanes to stay full. */
#define SHARE 64

#define THREADS_MOST 256

typedef struct work {
    uint8_t (*out)[32];
    bool *valid;
    const moonplan_text *texts;
    size_t count, share;
    const moonplan_options *options;
    atomic_size_t next, done;
} work;

static void *labour(void *data) {
    work *w = data;
    for (;;) {
        size_t from = atomic_fetch_add(&w->next, w->share);
        if (from >= w->count) return NULL;
        size_t part = w->count - from < w->share ? w->count - from : w->share;
        atomic_fetch_add(&w->done,
                         mpl_digest_lanes(mpl_keccak_kind_at(0), w->out + from, w->valid + from,
                                          w->texts + from, part, w->options));
    }
}

size_t moonplan_digest_many(uint8_t (*out)[32], bool *valid, const moonplan_text *texts,
                            size_t count, const moonplan_options *options) {
    moonplan_options own = mpl_options_of(options);
    own.enforce_capabilities = false;
    own.borrow = true;
    own.errors = NULL;
    size_t threads = own.jobs < THREADS_MOST ? own.jobs : THREADS_MOST;
    /* What is left over at the end is shared out in smaller parts. */
    size_t share = threads > 1 ? count / (4 * threads) + 1 : count;
    if (share > SHARE) share = SHARE;
    work w = {.out = out,
              .valid = valid,
              .texts = texts,
              .count = count,
              .share = threads > 1 ? share : count,
              .options = &own};
    if (count == 0) return 0;
    pthread_t others[THREADS_MOST];
    size_t started = 0;
    /* This thread is one of them; a thread that cannot be had is done without. */
    while (started + 1 < threads && started + 1 < (count + w.share - 1) / w.share &&
           pthread_create(&others[started], NULL, labour, &w) == 0)
        started++;
    labour(&w);
    for (size_t i = 0; i < started; i++) pthread_join(others[i], NULL);
    return w.done;
}
