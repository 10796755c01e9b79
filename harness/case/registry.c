/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/needs.h"

/* The linker's bounds of the section that CASE() puts its entries in. */
extern const struct case_entry __start_case_entries[] __attribute__((weak));
extern const struct case_entry __stop_case_entries[] __attribute__((weak));

/* And that of PROMISE(). */
extern const struct promise __start_promises[] __attribute__((weak));
extern const struct promise __stop_promises[] __attribute__((weak));

#define NEAREST_MAX 3

static struct case_ref *refs;
static size_t ref_count;

static int by_id(const void *a, const void *b)
{
        return strcmp(((const struct case_ref *)a)->id, ((const struct case_ref *)b)->id);
}

static size_t rows_of(const struct case_entry *entry)
{
        return entry->rows ? entry->row_count : 1;
}

/* Those of the family, and those that this row alone has. */
static uint64_t needs_of_row(const struct case_entry *entry, const char *id)
{
        uint64_t needs = entry->needs;

        for (const struct row_needs *row = entry->row_needs; row && row->id; row++)
                if (strcmp(row->id, id) == 0)
                        needs |= row->needs;
        return needs;
}

static struct case_ref make_ref(const struct case_entry *entry, size_t index)
{
        struct case_ref ref = {.entry = entry, .needs = entry->needs};
        int length;

        if (entry->rows) {
                const char *id;

                ref.row = (const char *)entry->rows + index * entry->row_size;
                id = *(const char *const *)ref.row;
                ref.needs = needs_of_row(entry, id);
                length = asprintf(&ref.id, "%s/%s/%s", entry->page, entry->name, id);
        } else {
                length = asprintf(&ref.id, "%s/%s", entry->page, entry->name);
        }
        if (length < 0)
                abort();
        return ref;
}

/* Words between slashes, as the protocol has them. */
static bool is_id(const char *id)
{
        bool word = false;

        for (; *id; id++) {
                if (*id == '/' && !word)
                        return false;
                word = *id != '/';
                if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_/", *id))
                        return false;
        }
        return word;
}

bool registry_load(void)
{
        size_t count = 0;

        for (const struct case_entry *e = __start_case_entries; e < __stop_case_entries; e++)
                count += rows_of(e);
        refs = calloc(count + 1, sizeof(*refs));
        if (!refs)
                abort();
        for (const struct case_entry *e = __start_case_entries; e < __stop_case_entries; e++)
                for (size_t i = 0; i < rows_of(e); i++)
                        refs[ref_count++] = make_ref(e, i);
        qsort(refs, ref_count, sizeof(*refs), by_id);
        for (size_t i = 0; i < ref_count; i++)
                if (!is_id(refs[i].id)) {
                        fprintf(stderr, "%s:%d: an id has words of a-z, 0-9 and _ only: %s\n",
                                refs[i].entry->file, refs[i].entry->line, refs[i].id);
                        return false;
                }
        for (size_t i = 1; i < ref_count; i++)
                if (by_id(&refs[i - 1], &refs[i]) == 0) {
                        fprintf(stderr, "two cases have the id %s: %s:%d and %s:%d\n", refs[i].id,
                                refs[i - 1].entry->file, refs[i - 1].entry->line,
                                refs[i].entry->file, refs[i].entry->line);
                        return false;
                }
        return true;
}

const char *registry_promise(const char *call)
{
        for (const struct promise *p = __start_promises; p < __stop_promises; p++)
                if (strcmp(p->call, call) == 0)
                        return p->clause;
        return "";
}

size_t registry_count(void)
{
        return ref_count;
}

const struct case_ref *registry_at(size_t i)
{
        return &refs[i];
}

const struct case_ref *registry_find(const char *id)
{
        struct case_ref key = {.id = (char *)id};

        return bsearch(&key, refs, ref_count, sizeof(*refs), by_id);
}

unsigned int case_deadline_ms(const struct case_entry *entry)
{
        return entry->deadline_ms ? entry->deadline_ms : DEADLINE_MS_DEFAULT;
}

/* FNV-1a. */
static uint64_t digest_more(uint64_t state, const char *text)
{
        for (; *text; text++)
                state = (state ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
        return state;
}

void registry_digest(char text[REGISTRY_DIGEST_MAX])
{
        uint64_t state = UINT64_C(0xcbf29ce484222325);
        char numbers[64];

        for (size_t i = 0; i < ref_count; i++) {
                const struct case_entry *entry = refs[i].entry;

                snprintf(numbers, sizeof(numbers), ":%d %d %d %u %" PRIx64 "\n", entry->line,
                         (int)entry->peers, (int)entry->network, case_deadline_ms(entry),
                         refs[i].needs);
                state = digest_more(state, refs[i].id);
                state = digest_more(state, entry->file);
                state = digest_more(state, numbers);
        }
        snprintf(text, REGISTRY_DIGEST_MAX, "%016" PRIx64, state);
}

json_t *case_json(const struct case_ref *ref)
{
        const struct case_entry *entry = ref->entry;

        return json_pack("{s:s s:s s:s s:i s:i s:b s:o s:i}", "id", ref->id, "page", entry->page,
                         "file", entry->file, "line", entry->line, "peers", (int)entry->peers,
                         "network", (int)entry->network, "needs", needs_json(ref->needs),
                         "deadline_ms", (int)case_deadline_ms(entry));
}

/* Edits (Levenshtein) that turn `a` into `b`; an id that merely goes on after `a` costs less. */
static size_t distance(const char *a, const char *b)
{
        size_t b_length = strlen(b);
        size_t row[256];

        if (strncmp(a, b, strlen(a)) == 0)
                return 1;
        if (b_length >= sizeof(row) / sizeof(row[0]))
                return SIZE_MAX;
        for (size_t j = 0; j <= b_length; j++)
                row[j] = j;
        for (size_t i = 1; a[i - 1]; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= b_length; j++) {
                        size_t change = diagonal + (a[i - 1] != b[j - 1]);
                        size_t add = row[j - 1] + 1;
                        size_t drop = row[j] + 1;

                        diagonal = row[j];
                        row[j] = change < add ? change : add;
                        row[j] = row[j] < drop ? row[j] : drop;
                }
        }
        return row[b_length];
}

struct candidate {
        size_t cost;
        const struct case_ref *ref;
};

/* Fills `best` with those that cost least, the least first; returns how many there are. */
static size_t find_nearest(const char *id, struct candidate *best)
{
        size_t count = 0;

        for (size_t i = 0; i < ref_count; i++) {
                struct candidate one = {distance(id, refs[i].id), &refs[i]};
                size_t at = count;

                while (at > 0 && one.cost < best[at - 1].cost)
                        at--;
                if (at == NEAREST_MAX)
                        continue;
                if (count < NEAREST_MAX)
                        count++;
                memmove(&best[at + 1], &best[at], (count - 1 - at) * sizeof(best[0]));
                best[at] = one;
        }
        return count;
}

char *registry_no_such(const char *id)
{
        struct candidate nearest[NEAREST_MAX];
        size_t count = find_nearest(id, nearest);
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);

        if (!out)
                abort();
        fprintf(out, "no such case: %.200s", id);
        for (size_t i = 0; i < count; i++)
                fprintf(out, "%s%s", i ? ", " : "; nearest: ", nearest[i].ref->id);
        fclose(out);
        return text;
}
