-- SPDX-License-Identifier: GPL-3.0-only
-- title: Slow: the slowest calls, each split over what it waited for
-- no picture: a curve of all calls is latency's
-- caption: From events: the 20 calls on files that took longest, and the 20 syncs (--top N: so many, at most 200), \
-- caption: which a mean hides. Each moment
-- caption: of a call counts once, for the first of these that was under way on its disk: a flush; a commit of the \
-- caption: journal; requests of
-- caption: data; requests in the queue of the device. Of a sync these are the disk's, whoever they are for: it waits \
-- caption: for what it needs of them; of
-- caption: another call those of its thread, and of its file for its process. before: until the first of them, or \
-- caption: all: entering, locks, pages; rest:
-- caption: what is left behind that. They sum to the call. meanwhile: whose bytes these requests are, where they \
-- caption: began before the call too.

-- table: calls: The slowest calls
-- first: took_us call path waited_for meanwhile before_us commit_us data_us flush_us queue_us rest_us who at_s
SELECT call, who, pid, path, device, at_s, bytes, took_us, before_us, queue_us, data_us, commit_us, flush_us, rest_us,
       waited_for, meanwhile, note
FROM v_slow
WHERE place <= iif(:rows > 1000, 200, 20)
ORDER BY place;

-- table: syncs: The slowest syncs: calls of the fsync family, and synchronous writes
-- first: took_us call path waited_for meanwhile before_us commit_us data_us flush_us queue_us rest_us who at_s
SELECT call, who, pid, path, device, at_s, bytes, took_us, before_us, queue_us, data_us, commit_us, flush_us, rest_us,
       waited_for, meanwhile, note
FROM v_slow
WHERE sync
ORDER BY place;

-- table: kinds: Where the slowest calls of each kind waited, all together
SELECT call, COUNT(*) AS calls, SUM(took_us) AS took_us, SUM(before_us) / SUM(took_us) AS share_before,
       SUM(queue_us) / SUM(took_us) AS share_queue,
       SUM(data_us) / SUM(took_us) AS share_data, SUM(commit_us) / SUM(took_us) AS share_commit,
       SUM(flush_us) / SUM(took_us) AS share_flush,
       SUM(rest_us) / SUM(took_us) AS share_rest
FROM v_slow
WHERE took_us > 0
GROUP BY call
ORDER BY SUM(took_us) DESC, call;
