/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_spec.h - the Docker Engine API's description of a sandbox
 */
#ifndef CONTROL_ACD_RUNTIME_DOCKER_SPEC_H
#define CONTROL_ACD_RUNTIME_DOCKER_SPEC_H

#include <jansson.h>

#include "control/runtime.h"

#define DOCKER_LABEL "ac.instance" /* its value: the instance's name */

/* Returns the body of POST /containers/create, a new reference, or NULL with
 * @err (-ENODEV: the GPU is not here; -ENOTSUP: unknown isolation, or a GPU
 * and covered paths under runsc). */
json_t *docker_create_json(const struct runtime_spec *spec, struct err *err);
/* Returns 0 if the devices of @gpus are here, in docker_create_json()'s sense,
 * or a negative errno with @err. */
int docker_gpus_check(const char *gpus, struct err *err);

#endif
