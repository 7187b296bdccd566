/* A step plan in a C program that knows no Lua: two capabilities, two steps, the second of which
 * uses what the first has made.
 *
 *   cc embed.c $(pkg-config --cflags --libs moonplan) -o embed && ./embed
 */
#include <moonplan.h>
#include <stdio.h>
#include <string.h>

static const char plan[] =
    "{ \"version\": \"1.0\", \"goal\": \"Create then inspect\","
    "  \"steps\": ["
    "    { \"id\": \"create\", \"capability\": \"orders.create\","
    "      \"input\": { \"sku\": \"book\", \"quantity\": 3 } },"
    "    { \"id\": \"inspect\", \"capability\": \"orders.read\","
    "      \"input\": { \"id\": { \"$ref\": \"steps.create.result.id\" } } } ] }";

/* A capability looks at its input and answers. */
static void create_order(void *data, moonplan_want *want) {
    int64_t *sold = data, quantity = 0;
    moonplan_value_integer(moonplan_value_member(want->input, "quantity", 8), &quantity);
    *sold += quantity;
    const moonplan_text order = MOONPLAN_TEXT("{\"id\": \"order-1\"}");
    moonplan_want_complete_json(want, order.bytes, order.length);
}

static void read_order(void *data, moonplan_want *want) {
    int64_t *sold = data;
    char text[64];
    moonplan_text id = moonplan_value_string(moonplan_value_member(want->input, "id", 2));
    if (id.length != 7 || memcmp(id.bytes, "order-1", 7) != 0) {
        moonplan_want_fail(want, MOONPLAN_TEXT("there is no such order"));
        return;
    }
    int length = snprintf(text, sizeof text, "{\"quantity\": %lld}", (long long)*sold);
    moonplan_want_complete_json(want, text, (size_t)length);
}

static void print_event(void *data, const moonplan_job *job, const moonplan_event *event) {
    (void)data;
    (void)job;
    printf("%.*s %.*s\n", (int)event->type.length, event->type.bytes, (int)event->step_id.length,
           event->step_id.bytes ? event->step_id.bytes : "");
}

int main(void) {
    moonplan_error err = {.code = MOONPLAN_OK};
    moonplan_engine_options options;
    moonplan_engine_options_init(&options);
    /* The default authorizer lets pass what reads, and what is named here. */
    options.allow = &MOONPLAN_TEXT("write");
    options.allow_count = 1;
    moonplan_engine *engine = moonplan_engine_new(&options, &err);
    int64_t sold = 0;
    const moonplan_capability family[] = {
        {.name = MOONPLAN_TEXT("orders.create"),
         .version = MOONPLAN_TEXT("1.0.0"),
         .risk = MOONPLAN_TEXT("write"),
         .input = MOONPLAN_TEXT(
             "{ \"sku\": { \"type\": \"string\", \"required\": true },"
             "  \"quantity\": { \"type\": \"number\", \"integer\": true, \"min\": 1 } }"),
         .run = create_order,
         .data = &sold},
        {.name = MOONPLAN_TEXT("orders.read"),
         .version = MOONPLAN_TEXT("1.0.0"),
         .risk = MOONPLAN_TEXT("read"),
         .input = MOONPLAN_TEXT("{ \"id\": { \"type\": \"string\", \"required\": true } }"),
         .run = read_order,
         .data = &sold}};
    moonplan_subscriber printer = {.notify = print_event};
    moonplan_job *job = NULL;
    moonplan_document *whole = NULL;
    if (engine && moonplan_engine_register(engine, family, 2, &err) &&
        moonplan_engine_subscribe(engine, "*", 1, &printer) &&
        (job = moonplan_engine_run(engine, plan, sizeof plan - 1, NULL, &err)) &&
        (whole = moonplan_job_document_new(job, &err))) {
        moonplan_text text = moonplan_value_source(moonplan_document_root(whole));
        printf("%.*s\n", (int)text.length, text.bytes);
    } else {
        fprintf(stderr, "%s: %s\n", moonplan_code_name(err.code), err.message);
    }
    bool done = job && moonplan_job_status(job) == MOONPLAN_COMPLETED;
    moonplan_document_free(whole);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
    return done ? 0 : 1;
}
