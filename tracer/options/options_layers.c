// SPDX-License-Identifier: GPL-3.0-only
/* options_layers.c - the layers that a command line names, and how one of them is reached. */
#include <string.h>
#include "fail.h"
#include "number.h"
#include "options.h"

const char *const option_layers[] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = name,
#include "kinds.def"
	[LAYER_MAX] = "default", "all", NULL
};

#define EVERY_LAYER ((1u << LAYER_MAX) - (1u << (LAYER_NONE + 1)))

/* Adds a layer, which is traced whole since it is named; "default": what is measured without the
 * option, "all": each layer whole. */
static int take_layer(struct options *o, const char *name, size_t len)
{
	static const struct {
		const char *name;
		u32 layers, whole;
	} words[] = { { "default", EVERY_LAYER, 0 }, { "all", EVERY_LAYER, EVERY_LAYER } };

	for (size_t i = 0; i < N_OF(words); i++)
		if (strlen(words[i].name) == len && !memcmp(words[i].name, name, len)) {
			o->layers |= words[i].layers;
			o->whole |= words[i].whole;
			return 0;
		}
	for (size_t i = LAYER_NONE + 1; i < LAYER_MAX; i++)
		if (strlen(option_layers[i]) == len && !memcmp(option_layers[i], name, len)) {
			o->layers |= 1u << i;
			o->whole |= 1u << i;
			return 0;
		}
	return fail_usage("unknown layer '%.*s'", (int)len, name);
}

#define SAMPLE_CACHE "cache="
#define MOST_SAMPLE 1000000

int options_sample(struct options *o, const char *value)
{
	u64 n;

	if (strncmp(value, SAMPLE_CACHE, strlen(SAMPLE_CACHE)) ||
	    parse_number(value + strlen(SAMPLE_CACHE), &n) || !n || n > MOST_SAMPLE)
		return fail_usage("sample '%s' is not cache=N, N from 1 to %d", value, MOST_SAMPLE);
	o->cache_sample = n;
	return 0;
}

int options_layers(struct options *o, const char *value)
{
	for (;;) {
		size_t len = strcspn(value, ",");
		int status = take_layer(o, value, len);

		if (status)
			return status;
		if (!value[len])
			break;
		value += len + 1;
	}
	/* VFS figures derive from these layers where no probe serves the VFS */
	if (o->layers & 1u << LAYER_VFS)
		o->layers |= 1u << LAYER_SYSCALL | 1u << LAYER_URING;
	/* components belong to files, which these layers report */
	if (o->layers & 1u << LAYER_STORAGE)
		o->layers |= 1u << LAYER_SYSCALL | 1u << LAYER_URING | 1u << LAYER_FS |
			1u << LAYER_BLOCK;
	if (o->layers == EVERY_LAYER)
		o->layers = 0;
	return 0;
}

const char *const option_prefers[] = { [PREFER_FENTRY - 1] = "fentry",
	[PREFER_KPROBE - 1] = "kprobe", [PREFER_DERIVED - 1] = "derived", NULL };

int options_prefer(struct options *o, const char *value)
{
	for (size_t i = 0; option_prefers[i]; i++)
		if (!strcmp(value, option_prefers[i])) {
			o->prefer = i + 1;
			return 0;
		}
	return fail_usage("'%s' is not fentry, kprobe or derived", value);
}
