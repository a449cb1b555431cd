/* SPDX-License-Identifier: GPL-3.0-only */
/* keys.h - reads one system of a rule file; only keys.c knows the keys. */
#ifndef IOT_SYSTEMS_KEYS_H
#define IOT_SYSTEMS_KEYS_H

#include <cjson/cJSON.h>
#include "rules.h"

/* Position in the rules, for messages. */
struct where {
	const char *file;
	char entry[64];                  /* name of the system, or its number */
	char key[96];
	size_t tokens;                   /* used by this entry */
	size_t tokens_left;
};

/* Reports an error at a position of the rules on stderr. Returns -error. */
__attribute__((format(printf, 3, 4))) int keys_fail(const struct where *, int error,
	const char *fmt, ...);

/* Type of a value, for messages. */
const char *keys_type_name(const cJSON *);
/* Number of elements of a list, or more than SYS_LIST. */
size_t keys_list_length(const cJSON *);

/* Reads system number i (from 0) of a file. *out may be set even when a negative errno is returned,
 * and must be freed. All errors but -ENOMEM are reported. */
int keys_read_entry(struct where *, const cJSON *, size_t i, struct sys_entry **out);
void keys_free_entry(struct sys_entry *);

#endif
