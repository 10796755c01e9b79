/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT API as data: what its calls take, how its structures are laid out, what its values are
 * called. The tables are generated from include/facts (see api_generate.py); the trace is written
 * and rendered by them.
 */
#ifndef HARNESS_API_H
#define HARNESS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_member {
        const char *name;
        uint64_t value;
};

/* Flags: a value is an OR of members. */
struct api_enum {
        const char *name;
        bool flags;
        const struct api_member *members;
        size_t count;
};

enum api_kind {
        API_SIGNED,
        API_UNSIGNED,
        API_BOOLEAN,
        API_ENUM,
        API_HANDLE,      /* any object; `object` is its kind, NULL where the type does not say */
        API_CONTEXT,     /* a consumer's cookie */
        API_RETURN,      /* DAT_RETURN */
        API_LMR_CONTEXT, /* shown as the LMR that it stands for */
        API_RMR_CONTEXT, /* the same, if it is that of an LMR */
        API_VADDR,       /* shown as an offset into a registered region */
        API_TEXT,        /* an array of char */
        API_STRING,      /* a pointer to char */
        API_ADDRESS,     /* a pointer to a socket address */
        API_BYTES,       /* a pointer to bytes */
        API_LISTED,  /* pointers to the keys of providers, as many as the parameter before says */
        API_POINTER, /* a pointer to what the trace does not follow */
        API_STRUCT,
        API_EVENT, /* DAT_EVENT, whose number says which member of its union holds */
};

struct api_struct;

struct api_type {
        const char *name;
        enum api_kind kind;
        size_t size;
        const char *object;
        const struct api_enum *names; /* of an API_ENUM; or special values of a number */
        const struct api_struct *layout;
};

struct api_field {
        const char *name;
        size_t name_length;
        size_t offset;
        const struct api_type *type;
};

struct api_struct {
        const char *name;
        size_t size;
        const struct api_field *fields;
        size_t count;
        bool follows; /* it points at addresses or private data, which belong to its value */
};

enum api_direction { API_IN = 1, API_OUT = 2, API_INOUT = 3 };

#define API_NO_COUNT (-1)

struct api_param {
        const char *name;
        size_t name_length;
        enum api_direction direction;
        const struct api_type *type; /* of what it points at, where `pointer` */
        bool pointer;
        bool given; /* it has memory that is read before the call */
        bool told;  /* and such that is read after it */
        int count;  /* the parameter with the number of elements, or API_NO_COUNT */
};

struct api_function {
        const char *name;
        const struct api_param *params;
        size_t count;
};

extern const struct api_function api_functions[];
extern const size_t api_function_count;

extern const struct api_struct *const api_structs[];
extern const size_t api_struct_count;

extern const struct api_enum *const api_enums[];
extern const size_t api_enum_count;

/* Those that each call, or each event, is looked up in. */
extern const struct api_enum *const api_return_types;
extern const struct api_enum *const api_return_subtypes;
extern const struct api_enum *const api_event_numbers;

/* Tables by their DAT name ("DAT_EP_STATE", "DAT_IA_ATTR"); NULL where there is none. */
const struct api_enum *api_enum_named(const char *name);
const struct api_struct *api_struct_named(const char *name);

/* The member of exactly this value, or NULL. */
const char *api_member_name(const struct api_enum *names, uint64_t value);

/*
 * The type of a return, "DAT_INVALID_STATE", and its subtype, "DAT_INVALID_STATE_SRQ_IN_USE".
 * A value without a name is written to `space` as a number; it must hold API_NAME_SPACE bytes.
 */
#define API_NAME_SPACE 16
const char *api_return_name(uint32_t ret, char *space);
const char *api_subtype_name(uint32_t ret, char *space);

/* Of a DTO, "DAT_DTO_ERR_FLUSHED"; "an unknown status" where it has no name. */
const char *api_status_name(unsigned int status);

#endif
