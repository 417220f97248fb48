/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_spec.h - a sandbox as the Docker Engine API is told to make it
 */
#ifndef CONTROL_ACD_RUNTIME_DOCKER_SPEC_H
#define CONTROL_ACD_RUNTIME_DOCKER_SPEC_H

#include <jansson.h>

#include "control/runtime.h"

#define DOCKER_LABEL "ac.instance" /* its value: the instance's name */

/* The body of POST /containers/create; a new reference. NULL: @err says why
 * (-ENODEV: the wanted GPU is not here; -ENOTSUP: unknown isolation). */
json_t *docker_create_json(const struct runtime_spec *spec, struct err *err);
/* Whether the devices of @gpus are here, as docker_create_json() wants them. */
int docker_gpus_check(const char *gpus, struct err *err);

#endif
