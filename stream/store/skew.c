/* SPDX-License-Identifier: GPL-3.0-only */
/* skew.c - how far one host's clock is ahead of another's. */
#include <stdio.h>
#include "memory.h"
#include "skew.h"
#include "table.h"

#define MOVES_MAX (4 << 20)     /* the first events of each host that are used */

/* One send or receive at one end of a connection. */
struct move {
	u64 owner, ports, wall_ns, bytes;
	u8 kind;
};

struct moves {
	struct move *all;
	size_t n;
};

static int by_end(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->ports != y->ports)
		return x->ports < y->ports ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->wall_ns < y->wall_ns ? -1 : x->wall_ns > y->wall_ns;
}

/* Reads events of sockets, sorted by owner, ports, direction and time. */
static int read_moves(const struct skew_side *s, struct moves *m)
{
	auto_free char *sql = NULL;
	sqlite3_stmt *st = NULL;
	int rc = SQLITE_NOMEM;

	m->all = malloc(MOVES_MAX * sizeof(*m->all));
	if (m->all && asprintf(&sql, "SELECT owner, offset & 4294967295, ts_ns, bytes, kind FROM event"
			       " WHERE run = %lld"
			       " AND kind IN (%d, %d) AND sub = %d AND offset > 0 LIMIT %d", (long long)s->run,
			       KIND_NET_SEND, KIND_NET_RECV, SUB_NET_REMOTE, MOVES_MAX) > 0)
		rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW && m->n < MOVES_MAX) {
		m->all[m->n++] = (struct move){
			.owner = sqlite3_column_int64(st, 0), .ports = sqlite3_column_int64(st, 1),
			.wall_ns = s->wall_ns + sqlite3_column_int64(st, 2),
			.bytes = sqlite3_column_int64(st, 3), .kind = sqlite3_column_int64(st, 4),
		};
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE)
		qsort(m->all, m->n, sizeof(*m->all), by_end);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Returns the moves of one end in one direction, and their number in *n. */
static const struct move *find_end(const struct moves *m, u64 owner, u64 ports, u8 kind, size_t *n)
{
	struct move key = { .owner = owner, .ports = ports, .kind = kind };
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_end(&m->all[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < m->n; ++*n) {
		const struct move *move = &m->all[low + *n];

		if (move->owner != owner || move->ports != ports || move->kind != kind)
			break;
	}
	return m->all + low;
}

static u64 sum(const struct move *m, size_t n)
{
	u64 bytes = 0;

	while (n--)
		bytes += m++->bytes;
	return bytes;
}

/* Returns the least time from sending to receiving, by the two clocks, over all bytes of one
 * direction. */
static s64 least_delay(const struct move *sent, size_t n_sent, const struct move *got, size_t n_got)
{
	u64 sent_bytes = 0, got_bytes = 0;
	s64 least = INT64_MAX;
	size_t i = 0, j;

	for (j = 0; j < n_got; j++) { /* its last byte is of the first send that reaches it */
		got_bytes += got[j].bytes;
		while (i < n_sent && sent_bytes + sent[i].bytes < got_bytes)
			sent_bytes += sent[i++].bytes;
		if (i < n_sent && (s64)(got[j].wall_ns - sent[i].wall_ns) < least)
			least = got[j].wall_ns - sent[i].wall_ns;
	}
	return least;
}

/* One connection with both ends; b receives the `forward` bytes. */
struct flow {
	u64 owner_a, owner_b, port_a, port_b, forward, back;
};

static void look_at(const struct moves *a, const struct moves *b, const struct flow *f, s64 *above,
		    s64 *below, struct skew *out)
{
	u64 ports_a = f->port_a << 16 | f->port_b, ports_b = f->port_b << 16 | f->port_a;
	size_t n_sent, n_got, n_back, n_taken;
	const struct move *sent = find_end(a, f->owner_a, ports_a, KIND_NET_SEND, &n_sent);
	const struct move *got = find_end(b, f->owner_b, ports_b, KIND_NET_RECV, &n_got);
	const struct move *back = find_end(b, f->owner_b, ports_b, KIND_NET_SEND, &n_back);
	const struct move *taken = find_end(a, f->owner_a, ports_a, KIND_NET_RECV, &n_taken);
	s64 least;

	/* events were lost, or were of another connection with these ports */
	if (sum(sent, n_sent) != f->forward || sum(got, n_got) != f->forward ||
	    sum(back, n_back) != f->back || sum(taken, n_taken) != f->back)
		return;
	least = least_delay(sent, n_sent, got, n_got);
	if (least < *above)
		*above = least;
	least = least_delay(back, n_back, taken, n_taken);
	if (least != INT64_MAX && -least > *below)
		*below = -least;
	out->flows++;
	out->bytes += f->forward + f->back;
}

/* Looks at the flows of `a` to other hosts whose other end, with one owner, is in `b`. */
static int each_flow(const struct skew_side *a, const struct skew_side *b, const struct moves *ma,
		     const struct moves *mb, s64 *above, s64 *below, struct skew *out)
{
	static const char mine[] =
		"SELECT owner, local, local_port, remote, remote_port, sent_bytes, recv_bytes, protocol FROM flow"
		" WHERE run = ?1 AND NOT loopback AND remote IS NOT NULL AND protocol = 'tcp'";
	static const char theirs[] =
		"SELECT MIN(owner), COUNT(*), SUM(sent_bytes), SUM(recv_bytes) FROM flow"
		" WHERE run = ?1 AND NOT loopback"
		" AND local = ?2 AND local_port = ?3 AND remote = ?4 AND remote_port = ?5 AND protocol = ?6";
	sqlite3_stmt *st = NULL, *other = NULL;
	int rc = sqlite3_prepare_v2(a->db, mine, -1, &st, NULL) ?:
		 sqlite3_prepare_v2(b->db, theirs, -1, &other, NULL) ?:
		 sqlite3_bind_int64(st, 1, a->run);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct flow f = {
			.owner_a = sqlite3_column_int64(st, 0), .port_a = sqlite3_column_int64(st, 2),
			.port_b = sqlite3_column_int64(st, 4), .forward = sqlite3_column_int64(st, 5),
			.back = sqlite3_column_int64(st, 6),
		};

		sqlite3_bind_int64(other, 1, b->run);
		sqlite3_bind_value(other, 2, sqlite3_column_value(st, 3));
		sqlite3_bind_int64(other, 3, f.port_b);
		sqlite3_bind_value(other, 4, sqlite3_column_value(st, 1));
		sqlite3_bind_int64(other, 5, f.port_a);
		sqlite3_bind_value(other, 6, sqlite3_column_value(st, 7));
		rc = sqlite3_step(other);
		f.owner_b = sqlite3_column_int64(other, 0);
		/* the ends agree on the bytes: neither was recorded from its middle on */
		if (rc == SQLITE_ROW && sqlite3_column_int64(other, 1) == 1 &&
		    (u64)sqlite3_column_int64(other, 2) == f.back &&
		    (u64)sqlite3_column_int64(other, 3) == f.forward)
			look_at(ma, mb, &f, above, below, out);
		rc = sqlite3_reset(other);
	}
	sqlite3_finalize(st);
	sqlite3_finalize(other);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int skew_find(const struct skew_side *a, const struct skew_side *b, struct skew *out)
{
	s64 above = INT64_MAX, below = INT64_MIN; /* of b's clock minus a's */
	struct moves ma = { 0 }, mb = { 0 };
	int rc = read_moves(a, &ma) ?: read_moves(b, &mb);

	*out = (struct skew){ 0 };
	rc = rc ?: each_flow(a, b, &ma, &mb, &above, &below, out);
	free(ma.all);
	free(mb.all);
	out->two_ways = above != INT64_MAX && below != INT64_MIN;
	out->known = above != INT64_MAX || below != INT64_MIN;
	if (out->two_ways) {
		out->ahead_ns = below / 2 + above / 2;
		out->error_ns = above > below ? (above - below) / 2 : (below - above) / 2;
	} else if (out->known) {
		out->ahead_ns = above != INT64_MAX ? above : below;
	}
	return rc;
}
