/* SPDX-License-Identifier: GPL-3.0-only */
#ifndef IOT_ANALYZER_ORDER_H
#define IOT_ANALYZER_ORDER_H

struct sqlite3;

/* Gives the connection the aggregate function access_order() (order.c says what it does). Returns
 * an SQLite code. */
int order_register(struct sqlite3 *db);

#endif
