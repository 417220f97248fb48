// SPDX-License-Identifier: Apache-2.0

// Command precompile writes the system call filters of runsc as Go code.
//
// The sentry and the gofer each put a seccomp filter on themselves. The Go
// module compiles it from its rules at each start; gVisor's own build does
// that once, ahead. This does the same with gVisor's rules and compiler, and
// writes the result into the two files of the module that are empty for want
// of it.
//
// usage: precompile GVISOR    (the directory of the vendored module)
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	sentry "gvisor.dev/gvisor/runsc/boot/filter/config"
	gofer "gvisor.dev/gvisor/runsc/fsgofer/filter/config"
)

const (
	off = "PrecompilationDisabledAtBuildTime = true"
	on  = "PrecompilationDisabledAtBuildTime = false"
	end = "\tprecompiledPrograms = programs\n"
)

// Adds the programs to a file that has none. Fails if it is not as expected.
func add(path string, programs []precompiledseccomp.Program, err error) error {
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	old := string(text)
	if len(programs) == 0 || strings.Count(old, off) != 1 || strings.Count(old, end) != 1 {
		return fmt.Errorf("%s has no place for %d programs", path, len(programs))
	}
	var code strings.Builder
	for _, p := range programs {
		code.WriteString(p.Registration("\t", "precompiledseccomp", "programs"))
	}
	old = strings.Replace(old, off, on, 1)
	old = strings.Replace(old, end, code.String()+end, 1)
	fmt.Printf("%d filters compiled into %s\n", len(programs), path)
	return os.WriteFile(path, []byte(old), 0o644)
}

func main() {
	dir := filepath.Join(os.Args[1], "runsc")
	programs, err := sentry.PrecompiledPrograms()
	err = add(filepath.Join(dir, "boot/filter/filter_precompiled.go"), programs, err)
	if err == nil {
		programs, err = gofer.PrecompiledPrograms()
		err = add(filepath.Join(dir, "fsgofer/filter/filter_precompiled.go"), programs, err)
	}
	if err != nil {
		log.Fatal(err)
	}
}
