/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_id_fuzz.c - the id of an event, which a client sends back: what is read
 * is what is written, byte for byte
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/api/command/say.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[64], again[SAY_EVENT_ID_MAX];
	uint64_t pos = 1;
	bool end = false;

	if (size >= sizeof(text) || memchr(data, 0, size))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (say_event_id_parse(text, &pos, &end) < 0)
		return 0;
	say_event_id(again, pos, end);
	if (strcmp(text, again) != 0)
		abort();
	return 0;
}
