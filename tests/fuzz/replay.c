/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - a main for fuzz targets: runs the files, and the files of the
 * directories, that are named on the command line
 */
#include <string.h>

#include "lib/file.h"
#include "lib/str.h"

#define INPUT_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	SCOPED_STR data = NULL;
	SCOPED_MEM exact = NULL;
	size_t len;
	int rc = file_read(path, INPUT_MAX, &data, &len);

	if (rc < 0) {
		fprintf(stderr, "%s: %s\n", path, err_text(rc));
		return rc;
	}
	/* Exactly as many bytes as given: ASan shall see one too many. */
	exact = malloc(len);
	if (!exact)
		return -ENOMEM;
	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(exact, len);
	printf("%s\n", path);
	return 1;
}

static int replay(const char *path)
{
	SCOPED_DIR dir = opendir(path);
	struct dirent *de;
	int count = 0;

	if (!dir)
		return replay_file(path);
	while ((de = readdir(dir))) {
		SCOPED_STR file = str_printf("%s/%s", path, de->d_name);
		int rc;

		if (de->d_name[0] == '.')
			continue;
		rc = file ? replay_file(file) : -ENOMEM;
		if (rc < 0)
			return rc;
		count += rc;
	}
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		int rc = replay(argv[i]);

		if (rc < 0)
			return 1;
		count += rc;
	}
	return count == 0; /* a corpus that is not there tests nothing */
}
