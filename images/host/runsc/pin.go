// SPDX-License-Identifier: Apache-2.0

//go:build pin

// Package runsc pins the version of gVisor: go.mod names it, go.sum proves it.
package runsc

import _ "gvisor.dev/gvisor/runsc"
