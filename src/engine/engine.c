#include <sodium.h>
#include <string.h>
#include <time.h>

#include "../core/text.h"
#include "job.h"

/* -- Options -----------------------------------------------------------------*/

void moonplan_engine_options_init(moonplan_engine_options *options) {
    memset(options, 0, sizeof *options);
    moonplan_options_init(&options->common);
    options->keep_jobs = 64;
}

static bool copy_texts(mpl_arena *arena, const moonplan_text **out, size_t *out_count,
                       const moonplan_text *list, size_t count) {
    if (count == 0) return true;
    moonplan_text *copy = mpl_arena_take(arena, count * sizeof *copy);
    if (!copy) return false;
    for (size_t i = 0; i < count; i++) {
        copy[i].bytes = mpl_arena_copy(arena, list[i].bytes, list[i].length);
        copy[i].length = list[i].length;
        if (!copy[i].bytes) return false;
    }
    *out = copy;
    *out_count = count;
    return true;
}

static bool copy_keys(moonplan_engine *engine, const moonplan_engine_options *options) {
    if (options->approver_count == 0) return true;
    moonplan_public_key *copy =
        mpl_arena_take(&engine->texts, options->approver_count * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, options->approvers, options->approver_count * sizeof *copy);
    engine->approvers = copy;
    engine->approver_count = options->approver_count;
    return true;
}

/* -- Subscriptions -----------------------------------------------------------*/

static void drop_subscription(moonplan_engine *engine, mpl_subscription *subscription) {
    moonplan_subscriber subscriber = subscription->subscriber;
    mpl_release(&engine->alloc, subscription->type, subscription->length + 1);
    subscription->type = NULL;
    if (subscriber.release) subscriber.release(subscriber.data);
}

/* Take out those that have been unsubscribed. A release function may do anything, subscribing and
 * unsubscribing included. */
static void sweep(moonplan_engine *engine) {
    for (size_t i = engine->subscription_count; engine->publishing == 0 && i > 0;) {
        mpl_subscription gone = engine->subscriptions[--i];
        if (gone.number) continue;
        memmove(engine->subscriptions + i, engine->subscriptions + i + 1,
                (engine->subscription_count - i - 1) * sizeof gone);
        engine->subscription_count--;
        drop_subscription(engine, &gone);
        if (i > engine->subscription_count) i = engine->subscription_count;
    }
}

/* -- Making and ending -------------------------------------------------------*/

moonplan_engine *moonplan_engine_new(const moonplan_engine_options *options, moonplan_error *err) {
    moonplan_engine_options defaults;
    if (!options) {
        moonplan_engine_options_init(&defaults);
        options = &defaults;
    }
    mpl_alloc alloc = mpl_alloc_of(&options->common);
    moonplan_engine *engine = mpl_allocate(&alloc, sizeof *engine);
    if (!engine) {
        mpl_error_memory(err);
        return NULL;
    }
    *engine = (moonplan_engine){.alloc = alloc,
                                .options = options->common,
                                .holds = 1,
                                .now = options->now,
                                .now_data = options->now_data,
                                .make_id = options->make_id,
                                .keep_reads = options->keep_reads,
                                .make_id_data = options->make_id_data};
    engine->options.errors = NULL;
    engine->options.borrow = false;
    engine->options.implements = NULL;
    engine->options.implements_count = 0;
    mpl_arena_open(&engine->texts, &engine->alloc);
    if (!copy_texts(&engine->texts, &engine->allow, &engine->allow_count, options->allow,
                    options->allow_count) ||
        !copy_texts(&engine->texts, &engine->versions, &engine->version_count,
                    options->plan_versions, options->plan_versions_count) ||
        !copy_texts(&engine->texts, &engine->require_approval, &engine->require_approval_count,
                    options->require_approval, options->require_approval_count) ||
        !copy_keys(engine, options) ||
        !mpl_registry_open(&engine->registry, &engine->alloc, &engine->options) ||
        !mpl_store_memory(&engine->store, &engine->alloc, options->keep_jobs)) {
        mpl_error_memory(err);
        moonplan_engine_free(engine);
        return NULL;
    }
    /* Only now, so that nothing is released after a failure. */
    engine->authorizer = options->authorizer;
    return engine;
}

/* Let go of everything that is the host's; what is left can be read. */
static void close_engine(moonplan_engine *engine) {
    engine->closed = true;
    moonplan_authorizer authorizer = engine->authorizer;
    memset(&engine->authorizer, 0, sizeof engine->authorizer);
    if (authorizer.release) authorizer.release(authorizer.data);
    if (engine->registry.alloc) mpl_registry_close(&engine->registry);
    for (size_t i = engine->provider_count; i > 0; i--) {
        moonplan_provider provider = engine->providers[i - 1];
        engine->provider_count = i - 1;
        if (provider.release) provider.release(provider.data);
    }
    for (size_t i = 0; i < engine->subscription_count; i++) engine->subscriptions[i].number = 0;
    engine->live = 0;
    sweep(engine);
    mpl_store store = engine->store;
    engine->was_durable = store.durable;
    memset(&engine->store, 0, sizeof engine->store);
    if (store.release) store.release(store.data);
    engine->now = NULL;
    engine->make_id = NULL;
}

void mpl_engine_release(moonplan_engine *engine) {
    if (--engine->holds) return;
    mpl_alloc alloc = engine->alloc;
    mpl_arena_close(&engine->texts);
    mpl_release(&engine->alloc, engine->providers,
                engine->provider_capacity * sizeof *engine->providers);
    mpl_release(&engine->alloc, engine->subscriptions,
                engine->subscription_capacity * sizeof *engine->subscriptions);
    mpl_release(&alloc, engine, sizeof *engine);
}

void mpl_engine_enter(moonplan_engine *engine) {
    engine->calls++;
    engine->holds++;
}

void mpl_engine_leave(moonplan_engine *engine) {
    if (--engine->calls == 0 && engine->closing && !engine->closed) close_engine(engine);
    mpl_engine_release(engine);
}

void moonplan_engine_free(moonplan_engine *engine) {
    if (!engine) return;
    engine->closing = true;
    /* Freed from inside a callback, it ends when the last of them has returned. */
    if (engine->calls == 0) close_engine(engine);
    mpl_engine_release(engine);
}

void mpl_engine_use_store(moonplan_engine *engine, const mpl_store *store) {
    mpl_store old = engine->store;
    engine->store = *store;
    if (old.release) old.release(old.data);
}

const mpl_store *mpl_engine_store(const moonplan_engine *engine) {
    return &engine->store;
}

const moonplan_options *mpl_engine_options(const moonplan_engine *engine) {
    return &engine->options;
}

/* -- Clock and ids -----------------------------------------------------------*/

int64_t mpl_engine_now(moonplan_engine *engine) {
    if (engine->now) {
        mpl_engine_enter(engine);
        int64_t now = engine->now(engine->now_data);
        mpl_engine_leave(engine);
        /* What is kept as a number is compared with what is kept as a text. */
        return now < MPL_TIME_FIRST ? MPL_TIME_FIRST : now > MPL_TIME_LAST ? MPL_TIME_LAST : now;
    }
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* RFC 9562, section 5.7: 48 bits of milliseconds, the rest random but for version and variant. */
static void make_uuid(moonplan_engine *engine, int64_t now, char out[MOONPLAN_ID_SIZE]) {
    uint8_t bytes[16];
    uint64_t time = (uint64_t)now;
    if (engine->random_left < 10) {
        randombytes_buf(engine->random, sizeof engine->random);
        engine->random_left = sizeof engine->random;
    }
    for (size_t i = 0; i < 6; i++) bytes[i] = (uint8_t)(time >> (40 - 8 * i));
    engine->random_left -= 10;
    memcpy(bytes + 6, engine->random + engine->random_left, 10);
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0f));
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
    static const uint8_t groups[] = {4, 2, 2, 2, 6};
    const uint8_t *at = bytes;
    for (size_t i = 0; i < sizeof groups; i++) {
        if (i) *out++ = '-';
        mpl_hex_encode(out, at, groups[i]);
        out += 2 * (size_t)groups[i];
        at += groups[i];
    }
    *out = 0;
}

static bool id_sound(const char *id) {
    const char *end = memchr(id, 0, MOONPLAN_ID_SIZE);
    if (!end || end == id) return false;
    for (size_t step; id < end; id += step)
        if ((step = mpl_utf8(id, end, NULL)) == 0) return false;
    return true;
}

void mpl_engine_make_id(moonplan_engine *engine, int64_t now, char out[MOONPLAN_ID_SIZE]) {
    if (engine->make_id) {
        memset(out, 0, MOONPLAN_ID_SIZE);
        mpl_engine_enter(engine);
        bool made = engine->make_id(engine->make_id_data, out);
        mpl_engine_leave(engine);
        if (made && id_sound(out)) return;
    }
    make_uuid(engine, now, out);
}

/* -- Capabilities ------------------------------------------------------------*/

bool mpl_engine_replace(moonplan_engine *engine, const moonplan_text *old, size_t old_count,
                        const moonplan_capability *list, size_t count, bool strict,
                        moonplan_error *err) {
    mpl_engine_enter(engine);
    bool fine = mpl_registry_change(&engine->registry, old, old_count, list, count, strict, err);
    mpl_engine_leave(engine);
    return fine;
}

bool moonplan_engine_register(moonplan_engine *engine, const moonplan_capability *list,
                              size_t count, moonplan_error *err) {
    return mpl_engine_replace(engine, NULL, 0, list, count, false, err);
}

bool moonplan_engine_unregister(moonplan_engine *engine, const char *name, size_t length) {
    mpl_engine_enter(engine);
    bool there = mpl_registry_remove(&engine->registry, (moonplan_text){name, length});
    mpl_engine_leave(engine);
    return there;
}

bool mpl_engine_has(const moonplan_engine *engine, moonplan_text name) {
    return mpl_registry_find(&engine->registry, name) != NULL;
}

bool mpl_engine_known(const moonplan_engine *engine, moonplan_text name, moonplan_text *version,
                      moonplan_text *risk) {
    const mpl_entry *entry = mpl_registry_find(&engine->registry, name);
    moonplan_text none = {NULL, 0};
    *version = entry ? entry->view.version : none;
    *risk = entry ? entry->view.risk : none;
    return entry != NULL;
}

bool moonplan_engine_provide(moonplan_engine *engine, const moonplan_provider *provider,
                             moonplan_error *err) {
    if (!mpl_grow(&engine->alloc, (void **)&engine->providers, &engine->provider_capacity,
                  engine->provider_count + 1, sizeof *engine->providers)) {
        mpl_error_memory(err);
        return false;
    }
    engine->providers[engine->provider_count++] = *provider;
    return true;
}

mpl_entry *mpl_engine_find(moonplan_engine *engine, moonplan_text name, moonplan_error *err) {
    err->code = MOONPLAN_OK;
    mpl_entry *entry = mpl_registry_find(&engine->registry, name);
    for (size_t i = 0; !entry && i < engine->provider_count; i++) {
        moonplan_provider provider = engine->providers[i];
        moonplan_error why = {.code = MOONPLAN_OK};
        mpl_engine_enter(engine);
        bool found = provider.find(provider.data, engine, name, &why);
        if (found)
            entry = mpl_registry_find(&engine->registry, name);
        else if (err->code == MOONPLAN_OK)
            *err = why;
        mpl_engine_leave(engine);
    }
    if (entry) err->code = MOONPLAN_OK;
    return entry;
}

bool mpl_engine_schemas(moonplan_engine *engine, moonplan_text name, moonplan_value *input,
                        moonplan_value *output, moonplan_error *err) {
    const mpl_entry *entry = mpl_engine_find(engine, name, err);
    if (!entry) return false;
    *input = mpl_schema_value(entry->input);
    *output = mpl_schema_value(entry->output);
    return true;
}

/* -- Descriptions ------------------------------------------------------------*/

moonplan_document *moonplan_engine_list_new(const moonplan_engine *engine, moonplan_error *err) {
    mpl_builder builder;
    mpl_build_open_around(&builder, &engine->options);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_array(&builder);
        for (size_t i = 0; i < engine->registry.count; i++)
            mpl_entry_write(&builder, engine->registry.entries[i]);
        mpl_build_end(&builder);
    }
    return mpl_build_finish(&builder, err);
}

moonplan_document *moonplan_engine_describe_new(const moonplan_engine *engine, moonplan_text name,
                                                moonplan_text version, moonplan_error *err) {
    if (err) err->code = MOONPLAN_OK;
    const mpl_entry *entry = mpl_registry_find(&engine->registry, name);
    if (!entry || (version.bytes && !mpl_text_equal(version, entry->view.version))) return NULL;
    mpl_builder builder;
    mpl_build_open_around(&builder, &engine->options);
    if (builder.error.code == MOONPLAN_OK) mpl_entry_write(&builder, entry);
    return mpl_build_finish(&builder, err);
}

moonplan_document *moonplan_engine_jobs_new(const moonplan_engine *engine,
                                            const moonplan_job_filter *filter,
                                            moonplan_error *err) {
    mpl_builder builder;
    moonplan_error own;
    mpl_build_open_around(&builder, &engine->options);
    if (builder.error.code == MOONPLAN_OK) {
        mpl_build_array(&builder);
        if (engine->store.list && !engine->store.list(engine->store.data, filter, &builder, &own)) {
            if (err) *err = own;
            mpl_build_close(&builder);
            return NULL;
        }
        mpl_build_end(&builder);
    }
    return mpl_build_finish(&builder, err);
}

/* -- Events ------------------------------------------------------------------*/

static bool is_all(const mpl_subscription *subscription) {
    return subscription->length == 1 && subscription->type[0] == '*';
}

static bool is_of(const mpl_subscription *subscription, moonplan_text type) {
    return mpl_text_equal((moonplan_text){subscription->type, subscription->length}, type);
}

uint64_t moonplan_engine_subscribe(moonplan_engine *engine, const char *type, size_t length,
                                   const moonplan_subscriber *subscriber) {
    moonplan_text wanted = {type, length};
    if (engine->closing) return 0;
    for (size_t i = 0; i < engine->subscription_count; i++) {
        const mpl_subscription *known = &engine->subscriptions[i];
        if (known->number && is_of(known, wanted) &&
            known->subscriber.notify == subscriber->notify &&
            known->subscriber.data == subscriber->data)
            return known->number;
    }
    char *copy = mpl_allocate(&engine->alloc, length + 1);
    if (!copy) return 0;
    if (!mpl_grow(&engine->alloc, (void **)&engine->subscriptions, &engine->subscription_capacity,
                  engine->subscription_count + 1, sizeof *engine->subscriptions)) {
        mpl_release(&engine->alloc, copy, length + 1);
        return 0;
    }
    if (length) memcpy(copy, type, length);
    copy[length] = 0;
    engine->subscriptions[engine->subscription_count++] =
        (mpl_subscription){++engine->last_number, copy, length, *subscriber};
    engine->live++;
    return engine->last_number;
}

void moonplan_engine_unsubscribe(moonplan_engine *engine, uint64_t subscription) {
    if (subscription == 0) return;
    for (size_t i = 0; i < engine->subscription_count; i++) {
        if (engine->subscriptions[i].number != subscription) continue;
        engine->subscriptions[i].number = 0;
        engine->live--;
        mpl_engine_enter(engine);
        sweep(engine);
        mpl_engine_leave(engine);
        return;
    }
}

static void tell(moonplan_engine *engine, const moonplan_job *job, const moonplan_event *event,
                 size_t count, bool all) {
    for (size_t i = 0; i < count; i++) {
        /* The list may move while somebody is told. */
        const mpl_subscription *one = &engine->subscriptions[i];
        if (!one->number || (all ? !is_all(one) : !is_of(one, event->type))) continue;
        moonplan_subscriber subscriber = one->subscriber;
        subscriber.notify(subscriber.data, job, event);
    }
}

void mpl_engine_publish(moonplan_engine *engine, const moonplan_job *job,
                        const moonplan_event *event) {
    if (engine->live == 0) return;
    size_t count = engine->subscription_count;
    mpl_engine_enter(engine);
    engine->publishing++;
    tell(engine, job, event, count, false);
    tell(engine, job, event, count, true);
    engine->publishing--;
    sweep(engine);
    mpl_engine_leave(engine);
}

void mpl_engine_tell(moonplan_engine *engine, moonplan_event *event) {
    char id[MOONPLAN_ID_SIZE];
    if (engine->live == 0) return;
    mpl_engine_enter(engine);
    event->time = mpl_engine_now(engine);
    mpl_engine_make_id(engine, event->time, id);
    event->id = (moonplan_text){id, strlen(id)};
    mpl_engine_publish(engine, NULL, event);
    mpl_engine_leave(engine);
}
