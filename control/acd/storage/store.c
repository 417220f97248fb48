/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - instances on disk (SQLite, WAL): statements over one table
 */
#include "control/acd/storage/store.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "control/acd/storage/store_impl.h"

#define AS_COLUMN(kind, name) ", " #name
#define AS_PARAM(kind, name) ", ?"
#define AS_SETTING(kind, name) ", " #name " = ?"

#define COLUMNS "name" RECORD_FIELDS(AS_COLUMN)
#define PARAMS "?" RECORD_FIELDS(AS_PARAM)
#define SETTINGS "name = ?1" RECORD_FIELDS(AS_SETTING)

/* Host part of addresses: 1.0 to 254.255. */
#define ADDRESS_PREFIX "172.20." /* of AC_SUBNET */
#define ADDRESS_FIRST 0x0100u
#define ADDRESS_LAST 0xfeffu

/* Resets a statement, so that it holds no lock and no borrowed string. */
static void statement_resetp(sqlite3_stmt **st)
{
	sqlite3_reset(*st);
	sqlite3_clear_bindings(*st);
}

#define SCOPED_STATEMENT ATTR_CLEANUP(statement_resetp) sqlite3_stmt *

static int statement_prepare(struct store *s, const char *sql,
			     sqlite3_stmt **ret, struct err *err)
{
	int rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
				    ret, NULL);

	return rc == SQLITE_OK ? 0 : store_err(s->db, rc, "prepare", err);
}

int store_prepare(struct store *s, struct err *err)
{
	const struct {
		const char *sql;
		sqlite3_stmt **st;
	} all[] = {
		{ "INSERT INTO instance (" COLUMNS ") VALUES (" PARAMS ")",
		  &s->insert },
		{ "UPDATE instance SET " SETTINGS " WHERE name = ?1",
		  &s->update },
		{ "SELECT " COLUMNS " FROM instance ORDER BY name", &s->each },
		{ "DELETE FROM instance WHERE name = ?", &s->drop },
		{ "SELECT address FROM instance", &s->addresses },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int rc = statement_prepare(s, all[i].sql, all[i].st, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static void address_mark(uint8_t *bits, const char *text)
{
	struct in_addr in;
	uint32_t host;

	if (!text || inet_pton(AF_INET, text, &in) != 1)
		return;
	host = ntohl(in.s_addr) & 0xffffu;
	if (host <= ADDRESS_LAST)
		bits[host / 8] |= (uint8_t)(1u << host % 8);
}

/* Finds the lowest free address, with a bit for each pair of last bytes. */
static int address_find(struct store *s, char *out, size_t size,
			struct err *err)
{
	SCOPED_STATEMENT st = s->addresses;
	SCOPED_MEM used = calloc(1, (ADDRESS_LAST + 1) / 8);
	uint8_t *bits = used;
	int rc;

	if (!bits)
		return err_nomem(err);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		address_mark(bits, (const char *)sqlite3_column_text(st, 0));
	if (rc != SQLITE_DONE)
		return store_err(s->db, rc, "look for a free address", err);
	for (size_t i = 0; i < s->reserved.n; i++)
		address_mark(bits, s->reserved.v[i]);

	for (uint32_t host = ADDRESS_FIRST; host <= ADDRESS_LAST; host++) {
		if (bits[host / 8] & 1u << host % 8)
			continue;
		snprintf(out, size, ADDRESS_PREFIX "%u.%u", host >> 8,
			 host & 0xffu);
		return 0;
	}
	return err_set(err, -ENOSPC,
		       "every sandbox address is taken: destroy instances that "
		       "are not needed any more");
}

static int record_insert(struct store *s, const struct instance_record *r,
			 struct err *err)
{
	SCOPED_STATEMENT st = s->insert;
	int rc = instance_record_bind(st, r);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return 0;
	/* The address is free, so the name is taken. Names that differ only in
	 * case would be one host name, and one folder on some disks. */
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return err_set(err, -EEXIST,
			       "there is an instance '%s' already (case does "
			       "not count)",
			       r->name);
	return store_err(s->db, rc, "add the instance", err);
}

int store_insert(struct store *s, struct instance_record *r, struct err *err)
{
	struct instance_record with = *r;
	char address[sizeof(ADDRESS_PREFIX "255.255")];
	char *copy;
	int rc = address_find(s, address, sizeof(address), err);

	if (rc < 0)
		return rc;
	copy = strdup(address);
	if (!copy)
		return err_nomem(err);

	with.address = copy;
	rc = record_insert(s, &with, err);
	if (rc < 0) {
		free(copy);
		return rc;
	}
	free(r->address);
	r->address = copy;
	return 0;
}

int store_update(struct store *s, const struct instance_record *r,
		 struct err *err)
{
	SCOPED_STATEMENT st = s->update;
	int rc = instance_record_bind(st, r);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_DONE)
		return store_err(s->db, rc, "change the instance", err);
	if (sqlite3_changes(s->db) == 0)
		return err_set(err, -ENOENT, "there is no instance '%s'",
			       r->name);
	if (r->address)
		store_address_release(s, r->address); /* the table has it */
	return 0;
}

int store_address_reserve(struct store *s, char **ret, struct err *err)
{
	char address[sizeof(ADDRESS_PREFIX "255.255")];
	int rc = address_find(s, address, sizeof(address), err);
	char *copy;

	if (rc < 0)
		return rc;
	copy = strdup(address);
	if (!copy || strv_push(&s->reserved, address) < 0) {
		free(copy);
		return err_nomem(err);
	}
	*ret = copy;
	return 0;
}

void store_address_release(struct store *s, const char *address)
{
	struct strv *all = &s->reserved;

	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->v[i], address) != 0)
			continue;
		free(all->v[i]);
		all->v[i] = all->v[--all->n];
		all->v[all->n] = NULL;
		return;
	}
}

int store_delete(struct store *s, const char *name, struct err *err)
{
	SCOPED_STATEMENT st = s->drop;
	int rc = sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_DONE)
		return store_err(s->db, rc, "delete the instance", err);
	if (sqlite3_changes(s->db) == 0)
		return err_set(err, -ENOENT, "there is no instance '%s'", name);
	return 0;
}

int store_each(struct store *s,
	       int (*fn)(void *arg, const struct instance_record *r), void *arg,
	       struct err *err)
{
	SCOPED_STATEMENT st = s->each;
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct instance_record r = { 0 };
		int stop = instance_record_read(st, &r, err);

		if (stop == 0) {
			stop = fn(arg, &r);
			if (stop < 0)
				err_set(err, stop, "%s: %s", r.name,
					err_text(stop));
		}
		instance_record_done(&r);
		if (stop < 0)
			return stop;
	}
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "list instances", err);
}
