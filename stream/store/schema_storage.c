// SPDX-License-Identifier: GPL-3.0-only
/* schema_storage.c - layer storage in a store: what storage systems did with their files, in words
 * of the systems. It has views alone: each row is one of layer syscall or uring seen again, or a
 * sum by file, so that no total has it twice.
 */
#include "schema.h"

/* Calls on files of a known component. Calls without a file type are those by name. */
static const char operations[] =
	"SELECT e.run, e.ts_ns, e.dur_ns, 'storage' AS layer,\n"
	"  'svc_' || CASE k.dir WHEN 'r' THEN 'read' WHEN 'w' THEN 'write' WHEN 's' THEN 'sync'"
	" ELSE 'meta' END AS kind,\n"
	"  k.dir AS dir, k.name AS call, o.system AS system,\n"
	"  ifnull(c.name, f.component) AS component, f.path AS path, e.file, ifnull(e.offset, 0) AS"
	" offset,\n"
	"  ifnull(e.size, 0) AS size, ifnull(e.bytes, 0) AS bytes, e.err, e.owner, o.pid AS owner_pid,"
	" o.comm AS owner_comm, e.tid\n"
	"FROM event e JOIN kind k ON k.id = e.kind JOIN layer l ON l.id = k.layer AND l.name IN"
	" ('syscall', 'uring')\n"
	"JOIN process o ON o.run = e.run AND o.id = e.owner AND o.system IS NOT NULL\n"
	"LEFT JOIN sub s ON s.id = e.sub LEFT JOIN component c ON c.id = e.component\n"
	"LEFT JOIN file f ON f.run = e.run AND f.id = e.file\n"
	"WHERE ifnull(c.name, f.component) IS NOT NULL\n"
	"  AND (s.name IN ('regular', 'blockdev')\n"
	"       OR ifnull(e.sub, 0) = 0 AND l.name = 'syscall' AND k.dir NOT IN ('r', 'w'))";

/* Sums of the run by system and component: file data, without what file systems add. */
static const char sums[] =
	"SELECT i.run, o.system AS system, ifnull(c.name, f.component) AS component,\n"
	"  SUM(i.read_ops) AS read_ops, SUM(i.read_bytes) AS read_bytes, SUM(i.write_ops) AS"
	" write_ops,\n"
	"  SUM(i.write_bytes) AS write_bytes, SUM(i.sync_ops) AS sync_ops, SUM(i.fs_read_bytes) AS"
	" fs_read_bytes,\n"
	"  SUM(i.fs_write_bytes) AS fs_write_bytes, SUM(i.dev_read_bytes) AS dev_read_bytes,\n"
	"  SUM(i.dev_write_bytes) AS dev_write_bytes\n"
	"FROM file_io i JOIN process o ON o.run = i.run AND o.id = i.owner AND o.system IS NOT NULL\n"
	"LEFT JOIN component c ON c.id = i.component AND i.component > 0\n"
	"LEFT JOIN file f ON f.run = i.run AND f.id = i.file\n"
	"WHERE ifnull(c.name, f.component) IS NOT NULL\n"
	"GROUP BY i.run, o.system, 3";

void schema_storage(FILE *f, const char *temp)
{
	const char *about = *temp ? "-- Layer storage.\n" : "";

	fprintf(f, "%sCREATE %sVIEW v_storage AS\n"
		"-- layer storage: calls of storage systems on files of a known component, whose bytes are"
		" those of the calls again\n%s;\n", about, temp, operations);
	fprintf(f, "%sCREATE %sVIEW v_storage_total AS\n"
		"-- layer storage: file data of a run by system and component, exact whether or not events"
		" were recorded\n%s;\n", about, temp, sums);
}
