/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/build_id.h"

#include <stdio.h>
#include <string.h>

struct wanted {
        char *text;
        size_t size;
};

static void write_hex(const struct wanted *wanted, const unsigned char *bytes, size_t length)
{
        for (size_t i = 0; i < length && 2 * i + 3 <= wanted->size; i++)
                snprintf(wanted->text + 2 * i, 3, "%02x", bytes[i]);
}

/* Notes are padded to 4 bytes: header, name ("GNU"), content. */
static void search(const struct wanted *wanted, const unsigned char *at, const unsigned char *end)
{
        while (at + sizeof(ElfW(Nhdr)) <= end) {
                const ElfW(Nhdr) *note = (const void *)at;
                const unsigned char *name = at + sizeof(*note);
                const unsigned char *content = name + ((note->n_namesz + 3) & ~3u);

                if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
                    memcmp(name, "GNU", 4) == 0)
                        write_hex(wanted, content, note->n_descsz);
                at = content + ((note->n_descsz + 3) & ~3u);
        }
}

/* The loader speaks of addresses, not of pointers. */
static const unsigned char *at_address(uintptr_t address)
{
        const unsigned char *pointer;

        memcpy(&pointer, &address, sizeof(pointer));
        return pointer;
}

void build_id_of(const struct dl_phdr_info *object, char *text, size_t size)
{
        const struct wanted wanted = {text, size};

        text[0] = '\0';
        for (size_t i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *header = &object->dlpi_phdr[i];
                const unsigned char *start = at_address(object->dlpi_addr + header->p_vaddr);

                if (header->p_type == PT_NOTE && header->p_align <= 4)
                        search(&wanted, start, start + header->p_memsz);
        }
}

/* The first object is the program itself. */
static int look(struct dl_phdr_info *info, size_t size, void *wanted)
{
        const struct wanted *own = wanted;

        (void)size;
        build_id_of(info, own->text, own->size);
        return 1;
}

void build_id(char *text, size_t size)
{
        struct wanted wanted = {text, size};

        text[0] = '\0';
        dl_iterate_phdr(look, &wanted);
}
