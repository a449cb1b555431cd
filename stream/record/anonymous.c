// SPDX-License-Identifier: GPL-3.0-only
/* anonymous.c - replaces names by keyed hashes: which columns, and how.
 *
 * A text is cut into tokens at / = : , and blanks, which stay, as do tokens without letters and
 * digits. A token is cut further as name_pattern() of the analyzer cuts names: numbers, UUIDs and
 * long hexadecimal ids become numbers of 20 digits, what is between them becomes 16 letters that
 * are no hexadecimal digits. So name_pattern() finds the same families. Endings of units of systemd
 * stay.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include "anonymous.h"
#include "anonymous_parts.h"
#include "memory.h"
#include "siphash.h"
#include "table.h"

enum how {
	HASH,                   /* replaced: the rule of columns without a row */
	PATH,                   /* replaced; 1.2.3.4 is a version in it, not an address */
	KEEP,                   /* no name of a user is in it */
	HOSTED,                 /* a name of a device is kept, a host in front of it replaced */
	SOURCE,                 /* a file of a device or process is kept in this manner */
	COMM,                   /* kept of kernel threads */
	OPTIONS,                /* words of the kernel are kept */
	FILTERS,                /* as options_filters() of the tracer writes them */
	ADDRESS,                /* as one word */
	EVIDENCE,               /* a sentence with names: replaced by one without */
	FACT_NAME, FACT_VALUE,  /* it depends on the fact */
};

/* To keep a column: a row. */
static const struct { unsigned int type; const char *column; enum how how; } rules[] = {
	{ REC_run, "uuid", KEEP }, { REC_run, "label", KEEP }, { REC_run, "kernel", KEEP },
	{ REC_run, "machine", KEEP }, { REC_run, "tool", KEEP }, { REC_run, "filters", FILTERS },
	{ REC_run, "layers", KEEP }, { REC_run, "whole", KEEP }, { REC_run, "tier", KEEP },
	{ REC_run, "settle", KEEP }, { REC_run, "latency", KEEP },
	{ REC_node, "uuid", KEEP }, { REC_node, "label", KEEP }, { REC_node, "kernel", KEEP },
	{ REC_node, "filters", FILTERS }, { REC_node, "clock_from", KEEP },
	{ REC_probe, "name", KEEP }, { REC_probe, "layer", KEEP }, { REC_probe, "target", KEEP },
	{ REC_probe, "reason", KEEP },
	{ REC_device, "name", HOSTED }, { REC_device, "type", KEEP }, { REC_device, "fs", KEEP },
	{ REC_device, "options", OPTIONS },
	{ REC_level, "how", KEEP },
	{ REC_machine, "part", KEEP }, { REC_machine, "name", FACT_NAME },
	{ REC_machine, "key", KEEP }, { REC_machine, "value", FACT_VALUE },
	{ REC_process, "comm", COMM }, { REC_process, "system", KEEP },
	{ REC_process, "role", KEEP }, { REC_process, "matched", EVIDENCE },
	{ REC_process_sample, "state", KEEP },
	{ REC_op_name, "name", KEEP }, { REC_op_name, "scope", KEEP },
	{ REC_fs_snapshot, "path", PATH }, { REC_fs_snapshot, "cut", KEEP },
	{ REC_fs_entry, "path", PATH }, { REC_fs_entry, "type", KEEP },
	{ REC_event_path, "path", PATH }, { REC_event_path, "path2", PATH },
	{ REC_file, "path", PATH }, { REC_file, "component", KEEP },
	{ REC_hist, "system", KEEP },
	{ REC_put, "call", KEEP },
	{ REC_flow, "family", KEEP }, { REC_flow, "protocol", KEEP },
	{ REC_flow, "local", ADDRESS }, { REC_flow, "remote", ADDRESS }, { REC_flow, "role", KEEP },
	{ REC_lost, "layer", KEEP }, { REC_lost, "what", KEEP }, { REC_lost, "effect", KEEP },
	{ REC_truth, "source", SOURCE }, { REC_truth, "what", KEEP }, { REC_truth, "absent", KEEP },
	{ REC_load, "system", KEEP }, { REC_load, "profile", KEEP }, { REC_load, "devices", KEEP },
	{ REC_load, "horizon", KEEP },
	{ REC_end, "horizon", KEEP },
};

/* Facts whose values are no kernel's words. */
static const struct { const char *part, *key; enum how how; } facts[] = {
	{ "kernel", "command_line", HASH }, { "loop", "file", HASH }, { "dm", "volume", HASH },
	{ "fs", "device", HOSTED }, { "fs", "options", OPTIONS },
	{ "fs", "mount_options", OPTIONS },
};

static const char separators[] = "/=:, ";

/* --- tokens --- */

static void put_letters(FILE *to, uint64_t h)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		fputc('g' + (h >> shift & 15), to);
}

/* Length of a UUID at p, else 0; and of a long hexadecimal id (analyzer/sql/functions.c). */
static size_t uuid_len(const char *p, size_t n)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	if (n < sizeof(shape) - 1)
		return 0;
	for (i = 0; shape[i]; i++)
		if (shape[i] == 'x' ? !isxdigit((unsigned char)p[i]) : p[i] != '-')
			return 0;
	return i < n && isalnum((unsigned char)p[i]) ? 0 : i;
}

static size_t id_len(const char *p, size_t n)
{
	size_t len = 0, digits = 0;

	for (; len < n && isxdigit((unsigned char)p[len]); len++)
		digits += isdigit((unsigned char)p[len]) != 0;
	return len >= 8 && digits && digits < len &&
		!(len < n && isalnum((unsigned char)p[len])) ? len : 0;
}

static size_t digits_len(const char *p, size_t n)
{
	size_t len = 0;

	while (len < n && isdigit((unsigned char)p[len]))
		len++;
	return len;
}

/* Writes one token in parts: numbers, and what is between them. */
static void put_parts(const struct anonymizer *a, FILE *to, const char *p, size_t n)
{
	const char *literal = p, *end = p + n;
	bool in_word = false;

	while (p < end) {
		size_t len = in_word ? 0 : uuid_len(p, end - p) ?: id_len(p, end - p);

		len = len ?: digits_len(p, end - p);
		if (!len) {
			in_word = isalnum((unsigned char)*p++);
			continue;
		}
		if (literal < p)
			put_letters(to, siphash(a->key, literal, p - literal));
		fprintf(to, "%020llu", (unsigned long long)siphash(a->key, p, len));
		literal = p += len;
		in_word = true;
	}
	if (literal < p)
		put_letters(to, siphash(a->key, literal, p - literal));
}

static bool is_word(const char *p, size_t n)
{
	while (n--)
		if (isalnum((unsigned char)p[n]) || (unsigned char)p[n] >= 128)
			return true;
	return false;
}

/* Length of the ending of a unit of systemd, which --by unit looks for; else 0. */
static size_t ending_len(const char *p, size_t n)
{
	static const char *const kinds[] = { ".service", ".scope", ".socket", ".mount", ".swap",
		".slice" };

	for (size_t i = 0; i < N_OF(kinds); i++) {
		size_t len = strlen(kinds[i]);

		if (n > len && !memcmp(p + n - len, kinds[i], len))
			return len;
	}
	return 0;
}

static bool is_ipv4(const char *p, size_t n)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (n >= sizeof(text))
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	return inet_pton(AF_INET, text, &address) == 1;
}

static void put_token(const struct anonymizer *a, FILE *to, const char *p, size_t n, bool is_path)
{
	size_t ending = ending_len(p, n);

	if (!is_word(p, n)) {
		fwrite(p, 1, n, to);
		return;
	}
	if (!is_path && is_ipv4(p, n))
		put_letters(to, siphash(a->key, p, n));
	else
		put_parts(a, to, p, n - ending);
	fwrite(p + n - ending, 1, ending, to);
}

static void put_tokens(const struct anonymizer *a, FILE *to, const char *text, size_t n,
		       bool is_path)
{
	const char *end = text + n;

	while (text < end) {
		size_t len = 0;

		while (text + len < end && !strchr(separators, text[len]))
			len++;
		put_token(a, to, text, len, is_path);
		text += len;
		if (text < end)
			fputc(*text++, to);
	}
}

static void put_hashed(const struct anonymizer *a, FILE *to, const char *text, size_t n)
{
	put_tokens(a, to, text, n, false);
}

/* --- rules that keep something --- */

/* Is it a name that the kernel gives to block devices? Some have letters and a number behind the
 * kind, as sda1; others a number, as nvme0n1p2. */
static bool is_disk(const char *name)
{
	static const struct { const char *kind; size_t letters; } kinds[] = {
		{ "sd", 2 }, { "vd", 2 }, { "hd", 1 }, { "xvd", 2 }, { "dasd", 2 }, { "nvme" },
		{ "mmcblk" }, { "loop" }, { "dm-" }, { "md" }, { "zram" }, { "nbd" }, { "rbd" },
		{ "sr" }, { "ram" }, { "pmem" }, { "bcache" }, { "fd" },
	};

	for (size_t i = 0; i < N_OF(kinds); i++) {
		const char *rest = name + strlen(kinds[i].kind);
		size_t letters;

		if (strncmp(name, kinds[i].kind, strlen(kinds[i].kind)))
			continue;
		letters = strspn(rest, "abcdefghijklmnopqrstuvwxyz");
		if (kinds[i].letters ? letters && letters <= kinds[i].letters &&
		    !rest[letters + strspn(rest + letters, "0123456789")] :
		    isdigit((unsigned char)*rest) && !rest[strspn(rest, "0123456789np")])
			return true;
	}
	return false;
}

/* Keeps a name of a device; a host in front of it is replaced. */
static void put_hosted(const struct anonymizer *a, FILE *to, const char *text)
{
	const char *colon = strrchr(text, ':'), *name = colon ? colon + 1 : text;

	if (colon)
		put_hashed(a, to, text, colon + 1 - text);
	if (is_disk(name))
		fputs(name, to);
	else
		put_hashed(a, to, name, strlen(name));
}

/* Keeps a file of a device or a process: /sys/block/sda/stat, /proc/1/io. */
static void put_source(const struct anonymizer *a, FILE *to, const char *text)
{
	static const char *const kept[] = { "/sys/block/", "/sys/fs/ext4/", "/proc/" };
	const char *colon = strchr(text, ':'), *name = colon ? colon + 1 : text;

	if (colon)
		put_hashed(a, to, text, colon + 1 - text);
	for (size_t i = 0; i < N_OF(kept); i++)
		if (!strncmp(name, kept[i], strlen(kept[i]))) {
			fputs(name, to);
			return;
		}
	put_hashed(a, to, name, strlen(name));
}

/* The NFS client calls a thread ADDRESS-manager; all other kernel threads have names of the
 * kernel's. */
static void put_comm(const struct anonymizer *a, FILE *to, const char *text, bool kthread)
{
	static const char manager[] = "-manager";
	size_t n = strlen(text), ending = strlen(manager);

	if (kthread && (n < ending || strcmp(text + n - ending, manager)))
		fputs(text, to);
	else
		put_hashed(a, to, text, n);
}

/* Words of mount options; a word that is not here is replaced. */
static const char option_words[] =
	" rw ro sync async dirsync relatime noatime strictatime lazytime nodiratime nosuid nodev noexec"
	" nosymfollow discard nodiscard data ordered journal writeback barrier nobarrier commit errors"
	" continue remount-ro panic delalloc nodelalloc bsddf minixdf grpid nogrpid block_validity"
	" noblock_validity dioread_nolock dioread_lock nowarn_on_error warn_on_error journal_checksum"
	" nojournal_checksum journal_async_commit auto_da_alloc noauto_da_alloc user_xattr nouser_xattr"
	" acl noacl noquota quota usrquota grpquota prjquota usrjquota grpjquota min_batch_time"
	" max_batch_time i_version stripe inode_readahead_blks init_itable noinit_itable max_dir_size_kb"
	" prefetch_block_bitmaps no_prefetch_block_bitmaps fast_commit dax nombcache resuid resgid"
	" inode64 inode32 attr2 noattr2 logbufs logbsize sunit swidth allocsize largeio nolargeio"
	" noalign swalloc wsync ikeep noikeep filestreams uquota gquota pquota"
	" ssd nossd ssd_spread space_cache nospace_cache v1 v2 subvolid subvol compress compress-force"
	" zlib lzo zstd autodefrag noautodefrag datacow nodatacow datasum nodatasum max_inline"
	" flushoncommit noflushoncommit thread_pool clear_cache enospc_debug"
	" size nr_inodes nr_blocks mode uid gid huge never always within_size advise mpol"
	" vers rsize wsize namlen hard soft proto tcp udp rdma timeo retrans sec sys krb5 krb5i krb5p"
	" local_lock none lookupcache all acregmin acregmax acdirmin acdirmax noac nconnect"
	" xino on off auto index redirect_dir metacopy nfs_export volatile"
	" user_id group_id default_permissions allow_other max_read blksize cache loose mmap fscache"
	" access msize trans virtio fd ";

static bool is_option_word(const char *p, size_t n)
{
	char word[40];

	if (!n || n > sizeof(word) - 3)
		return false;
	snprintf(word, sizeof(word), " %.*s ", (int)n, p);
	return strstr(option_words, word);
}

/* A number with a unit, as "25%" or "24684096k". */
static bool is_amount(const char *p, size_t n)
{
	size_t digits = digits_len(p, n);

	return digits && (digits == n || (digits + 1 == n && strchr("kKmMgGtT%", p[digits])));
}

static void put_options(const struct anonymizer *a, FILE *to, const char *text)
{
	bool known = false;     /* the word before */

	while (*text) {
		size_t n = strcspn(text, ",=");
		bool word = is_option_word(text, n);

		if (word || (known && is_amount(text, n)))
			fwrite(text, 1, n, to);
		else
			put_hashed(a, to, text, n);
		known = word && text[n] == '=';
		text += n;
		if (*text)
			fputc(*text++, to);
	}
}

static void put_filter(const struct anonymizer *a, FILE *to, const char *word, size_t n)
{
	static const char *const kept[] = { "command", "pid=", "system=", "layer=" };
	const char *sign = memchr(word, '=', n);

	for (size_t i = 0; i < N_OF(kept); i++)
		if (!strncmp(word, kept[i], strlen(kept[i])) && (sign || n == strlen(kept[i]))) {
			fwrite(word, 1, n, to);
			return;
		}
	if (!sign) {
		put_hashed(a, to, word, n);
		return;
	}
	fwrite(word, 1, sign + 1 - word, to);
	if (!strncmp(word, "dev=", 4)) {
		auto_free char *name = strndup(sign + 1, word + n - sign - 1);
		const char *kernel = name && !strncmp(name, "/dev/", 5) ? name + 5 : name;

		if (!name)
			return;
		fwrite(name, 1, kernel - name, to);
		/* a device number has no host in front */
		if (!kernel[strspn(kernel, "0123456789:")])
			fputs(kernel, to);
		else
			put_hosted(a, to, kernel);
		return;
	}
	put_hashed(a, to, sign + 1, word + n - sign - 1);
}

static void put_filters(const struct anonymizer *a, FILE *to, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		put_filter(a, to, text, n);
		text += n;
		if (*text)
			fputc(*text++, to);
	}
}

/* Addresses that say nothing: none, and the loopback. */
static bool is_common(const char *address)
{
	return !strcmp(address, "0.0.0.0") || !strcmp(address, "::") || !strcmp(address, "::1") ||
		!strncmp(address, "127.", 4) || !strncmp(address, "::ffff:127.", 11);
}

/* --- columns --- */

static enum how fact_of(const struct anonymous_row *row)
{
	for (size_t i = 0; i < N_OF(facts); i++)
		if (!strcmp(row->part ?: "", facts[i].part) && !strcmp(row->key ?: "", facts[i].key))
			return facts[i].how;
	return KEEP;
}

static enum how how_of(unsigned int type, const char *column, const char *text,
		       const struct anonymous_row *row)
{
	enum how how = HASH;

	for (size_t i = 0; i < N_OF(rules); i++)
		if (rules[i].type == type && !strcmp(rules[i].column, column))
			how = rules[i].how;
	if (how == FACT_VALUE)
		return fact_of(row);
	if (how != FACT_NAME)
		return how;
	return (!strcmp(row->part ?: "", "net") && strcmp(text, "lo")) ||
		!strcmp(row->part ?: "", "fs") ? HASH : KEEP;
}

static void put(const struct anonymizer *a, FILE *to, enum how how, const char *text,
		const struct anonymous_row *row)
{
	switch (how) {
	case KEEP:
		fputs(text, to);
		return;
	case PATH:
		put_tokens(a, to, text, strlen(text), true);
		return;
	case HOSTED:
		put_hosted(a, to, text);
		return;
	case SOURCE:
		put_source(a, to, text);
		return;
	case COMM:
		put_comm(a, to, text, row->kthread);
		return;
	case OPTIONS:
		put_options(a, to, text);
		return;
	case FILTERS:
		put_filters(a, to, text);
		return;
	case ADDRESS:
		if (is_common(text))
			fputs(text, to);
		else
			put_letters(to, siphash(a->key, text, strlen(text)));
		return;
	case EVIDENCE:
		fputs("not kept: it had names", to);
		return;
	default:
		put_hashed(a, to, text, strlen(text));
	}
}

char *anonymous_text(const struct anonymizer *a, unsigned int type, const char *column,
		     const char *text, const struct anonymous_row *row)
{
	char *out = NULL;
	FILE *to = memory_open(&out, NULL);

	if (!to)
		return NULL;
	put(a, to, how_of(type, column, text, row), text, row);
	return fclose(to) ? NULL : out;
}
