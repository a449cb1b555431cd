/* SPDX-License-Identifier: GPL-3.0-only */
/* payload.c - reads the ledger that workloads/SYSTEM.sh prints.
 *
 * cJSON reads the structure, but it keeps numbers in doubles, and payloads and clocks have 64
 * bits. So it gets a copy in which every number is the string of its own digits: "#123" is a
 * number, "$text" a string, and a key begins with $ too. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include "analyzer.h"
#include "memory.h"
#include "payload.h"
#include "place.h"

#define LEDGER_MAX (16 << 20)
#define COPIES_MAX 1000000

/* Members of the document. To read one more: a column of record `load` in stream/records.def and a
 * row here. */
#define AT(member) offsetof(struct rec_load, member)
static const struct { const char *name; size_t offset; bool text; } members[] = {
	{ "system", AT(system), true },
	{ "profile", AT(profile), true },
	{ "error", AT(error), true },
	{ "logical_write_bytes", AT(logical_write_bytes) },
	{ "logical_read_bytes", AT(logical_read_bytes) },
	{ "write_ops", AT(write_ops) },
	{ "read_ops", AT(read_ops) },
	{ "errors", AT(errors) },
	{ "begin_wall_ns", AT(begin_wall_ns) },
	{ "end_wall_ns", AT(end_wall_ns) },
};

/* Members of the last horizon. */
static const struct { const char *name; size_t offset; } counters[] = {
	{ "device_write_bytes", AT(device_write_bytes) },
	{ "device_read_bytes", AT(device_read_bytes) },
};

static const char *const horizons[] = { "after_checkpoint", "after_sync", "at_ack" };

static int refuse(const char *path, const char *why, const char *name)
{
	return fail_as(EXIT_DATA, 0, "%s: %s%s%s", path, *name ? name : "", *name ? " " : "", why);
}

/* The whole file with a NUL behind it, or NULL with the error reported. */
static char *read_ledger(const char *path, size_t *len)
{
	auto_close int fd = strcmp(path, "-") ? place_open_path(path, O_RDONLY) : dup(STDIN_FILENO);
	char *text = fd < 0 ? NULL : read_all(fd, LEDGER_MAX, len);

	if (text && *len)
		return text;
	if (text || errno == EFBIG)
		fail_as(0, 0, "%s is not a ledger: it %s", path, text ? "is empty" : "is longer than 16 MiB");
	else
		fail_as(0, fd < -1 ? -fd : errno, "cannot read the ledger %s", path);
	free(text);
	return NULL;
}

/* A string of the document, marked as one. */
static const char *tame_string(const char *p, const char *end, char **out)
{
	*out = stpcpy(*out, "\"$");
	while (++p < end && *p != '"') {
		if (*p == '\\' && p + 1 < end)
			*(*out)++ = *p++;
		*(*out)++ = *p;
	}
	if (p < end)
		*(*out)++ = *p++;
	return p;
}

static const char *tame_number(const char *p, const char *end, char **out)
{
	*out = stpcpy(*out, "\"#");
	while (p < end && *p && strchr("+-.0123456789eE", *p))
		*(*out)++ = *p++;
	*(*out)++ = '"';
	return p;
}

/* One byte grows to at most four. */
static char *tame(const char *p, const char *end)
{
	char *copy = malloc(4 * (end - p) + 1), *out = copy;

	while (copy && p < end) {
		if (*p == '"')
			p = tame_string(p, end, &out);
		else if (*p == '-' || (*p >= '0' && *p <= '9'))
			p = tame_number(p, end, &out);
		else
			*out++ = *p++;
	}
	if (copy)
		*out = '\0';
	return copy;
}

static const cJSON *member(const cJSON *object, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "$%s", name);
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *v)
{
	return cJSON_IsString(v) && *v->valuestring == '$' ? v->valuestring + 1 : NULL;
}

/* A whole number that is not negative and fits in a signed 64-bit integer. Digits only: 1e3
 * and 1.0 are not what a count is. */
static int number_of(const char *path, const char *name, const cJSON *v, uint64_t *out)
{
	const char *digits = cJSON_IsString(v) && *v->valuestring == '#' ? v->valuestring + 1 : NULL;
	char *end;

	if (!digits)
		return refuse(path, "is not a number", name);
	if (*digits == '-')
		return refuse(path, "is negative", name);
	if (digits[strspn(digits, "0123456789")] || (*digits == '0' && digits[1]))
		return refuse(path, "is not a whole number", name);
	errno = 0;
	*out = strtoull(digits, &end, 10);
	return errno || *out > INT64_MAX ? refuse(path, "does not fit in 63 bits", name) : 0;
}

static int take_number(struct payload *p, const char *path, const cJSON *from, const char *name,
		       size_t offset)
{
	const cJSON *v = member(from, name);
	uint64_t n;

	if (!v || cJSON_IsNull(v))
		return 0;
	if (number_of(path, name, v, &n))
		return EXIT_DATA;
	*(u64 *)((char *)&p->load + offset) = n;
	rec_mark(&p->load, REC_load, offset);
	return 0;
}

static int take_text(struct payload *p, const char *path, const cJSON *from, const char *name,
		     size_t offset)
{
	const cJSON *v = member(from, name);

	if (!v || cJSON_IsNull(v))
		return 0;
	if (!text_of(v))
		return refuse(path, "is not a string", name);
	*(const char **)((char *)&p->load + offset) = text_of(v);
	return 0;
}

static int take_members(struct payload *p, const char *path)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < N_OF(members); i++)
		err = (members[i].text ? take_text : take_number)(p, path, p->keep,
								  members[i].name,
								  members[i].offset);
	if (!err && !p->load.system)
		return refuse(path, "is missing: it is not the ledger of a workload", "system");
	return err;
}

static int take_horizon(struct payload *p, const char *path)
{
	const cJSON *v = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < N_OF(horizons) && !(v = member(p->keep, horizons[i])); i++)
		;
	if (!v)
		return 0;
	if (!cJSON_IsObject(v))
		return refuse(path, "is not an object", horizons[i]);
	p->load.horizon = horizons[i];
	for (i = 0; !err && i < N_OF(counters); i++)
		err = take_number(p, path, v, counters[i].name, counters[i].offset);
	return err;
}

/* "replicas": n, or "k" and "m". Neither: nothing is known of redundancy. */
static int take_copies(struct payload *p, const char *path)
{
	const cJSON *replicas = member(p->keep, "replicas"), *k = member(p->keep, "k"),
		    *m = member(p->keep, "m");
	uint64_t copies, shares = 1, parity = 0;

	if (!replicas && !k && !m)
		return 0;
	if (replicas ? k || m : !k || !m)
		return refuse(path, "must hold either replicas, or k and m", "its redundancy");
	if (number_of(path, replicas ? "replicas" : "k", replicas ?: k, &copies) ||
	    (m && number_of(path, "m", m, &parity)))
		return EXIT_DATA;
	if (!copies || copies > COPIES_MAX || parity > COPIES_MAX)
		return refuse(path, "is not possible (1 to 1000000)", replicas ? "replicas" : "k or m");
	if (!replicas) {
		shares = copies;
		copies += parity;
	}
	rec_set(&p->load, load, copies, copies);
	rec_set(&p->load, load, shares, shares);
	return 0;
}

/* Products and sums that reports make of the numbers. */
static int check_limits(const struct payload *p, const char *path)
{
	const struct rec_load *l = &p->load;
	s64 sum;

	if (__builtin_mul_overflow((s64)l->logical_write_bytes, (s64)(l->copies ?: 1), &sum) ||
	    __builtin_add_overflow((s64)l->logical_write_bytes, (s64)l->logical_read_bytes, &sum))
		return refuse(path, "does not fit in 63 bits with its redundancy", "the payload");
	return 0;
}

/* "devices": [{"dev": "7:0", ...}, ...] as one text "7:0,7:1". */
static int take_devices(struct payload *p, const char *path)
{
	const cJSON *list = member(p->keep, "devices"), *d;
	size_t len = 0;
	FILE *f;
	u32 dev;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list) || !list->child)
		return refuse(path, "is not a list of devices", "devices");
	f = memory_open(&p->devices, &len);
	if (!f)
		return fail_as(EXIT_DATA, ENOMEM, "%s", path);
	cJSON_ArrayForEach(d, list) {
		const char *number = text_of(member(d, "dev"));
		char buf[24];

		if (!number || dev_parse(number, &dev)) {
			fclose(f); /* what it made is freed with the rest */
			return refuse(path, "has an entry whose dev is not \"major:minor\"", "devices");
		}
		fprintf(f, "%s%s", d == list->child ? "" : ",", dev_text(dev, buf));
	}
	fclose(f);
	p->load.devices = p->devices;
	return p->devices ? 0 : fail_as(EXIT_DATA, ENOMEM, "%s", path);
}

static int parse(struct payload *p, const char *path)
{
	size_t len = 0;
	auto_free char *text = read_ledger(path, &len), *copy = NULL;
	const cJSON *version;

	if (!text)
		return EXIT_DATA;
	errno = 0;
	copy = memchr(text, '\0', len) ? NULL : tame(text, text + len);
	p->keep = copy ? cJSON_ParseWithOpts(copy, NULL, true) : NULL;
	if (!p->keep && errno == ENOMEM)
		return fail_as(EXIT_DATA, ENOMEM, "%s", path);
	if (!cJSON_IsObject(p->keep))
		return refuse(path, "is not a ledger: not one JSON object", "");
	version = member(p->keep, "ledger");
	if (!version || !cJSON_IsString(version) || strcmp(version->valuestring, "#1"))
		return refuse(path, "is not the ledger of a workload: it has no \"ledger\": 1", "");
	return 0;
}

int payload_read(struct payload *p, const char *path)
{
	int err;

	memset(p, 0, sizeof(*p));
	err = parse(p, path);
	if (!err)
		err = take_members(p, path);
	if (!err)
		err = take_horizon(p, path);
	if (!err)
		err = take_copies(p, path);
	if (!err)
		err = take_devices(p, path);
	return err ?: check_limits(p, path);
}

void payload_free(struct payload *p)
{
	cJSON_Delete(p->keep);
	free(p->devices);
}
