/* SPDX-License-Identifier: GPL-3.0-only */
/* words.c - the rows of kinds.def and components.def. */
#include "words.h"

static const struct word layers[] = {
#define LAYER(sym, name, text, doc) { LAYER_##sym, name, doc, text, #sym, 0, 0 },
#include "kinds.def"
};

static const struct word kinds[] = {
#define KIND(sym, layer, name, dir, text, doc) \
	{ KIND_##sym, name, doc, text, NULL, LAYER_##layer, dir },
#include "kinds.def"
};

static const struct word causes[] = {
#define CAUSE(sym, name, doc) { CAUSE_##sym, name, doc, NULL, NULL, 0, 0 },
#include "kinds.def"
};

static const struct word hows[] = {
#define HOW(sym, name, doc) { HOW_##sym, name, doc, NULL, NULL, 0, 0 },
#include "kinds.def"
};

static const struct word subs[] = {
#define SUB(sym, name, doc) { SUB_##sym, name, doc, NULL, NULL, 0, 0 },
#include "kinds.def"
};

static const struct word components[] = {
	{ COMPONENT_NONE, "none", NULL, NULL, NULL, 0, 0 },
#define COMPONENT(sym, name, doc) { COMPONENT_##sym, name, doc, NULL, NULL, 0, 0 },
#include "components.def"
};

static const struct word carriers[] = {
#define CARRIER(sym, name, doc) { CARRIER_##sym, name, doc, NULL, NULL, 0, 0 },
#include "kinds.def"
};

static const struct word flags[] = {
#define FLAG(sym, bit, name, doc) { 1u << bit, name, doc, NULL, NULL, 0, 0 },
#include "kinds.def"
};

#define ROWS(list) list, sizeof(list) / sizeof(*list)
const struct words dictionary[] = {
	[WORDS_LAYER] = { "layer", ROWS(layers) },
	[WORDS_KIND] = { "kind", ROWS(kinds) },
	[WORDS_CAUSE] = { "cause", ROWS(causes) },
	[WORDS_HOW] = { "how", ROWS(hows) },
	[WORDS_SUB] = { "sub", ROWS(subs) },
	[WORDS_COMPONENT] = { "component", ROWS(components) },
	[WORDS_CARRIER] = { "carrier", ROWS(carriers) },
	[WORDS_FLAG] = { "flag", ROWS(flags) },
};
