// SPDX-License-Identifier: Apache-2.0
// preload_dial.go - to a host and back: with cgo, and without any library
//
// usage: preload_dial HOST PORT
//
// What comes in by stdin is sent. Exit code 0: something was answered, and no
// alert of TLS. Go makes its system calls itself, also with cgo: no shim sees
// it connect.
package main

import (
	"io"
	"net"
	"os"
	"time"
)

func main() {
	said, _ := io.ReadAll(os.Stdin)
	there := net.JoinHostPort(os.Args[1], os.Args[2])
	conn, err := net.DialTimeout("tcp", there, 12*time.Second)
	if err != nil {
		os.Exit(1)
	}
	conn.SetDeadline(time.Now().Add(12 * time.Second))
	answer := make([]byte, 4)
	if _, err = conn.Write(said); err != nil {
		os.Exit(1)
	}
	if _, err = io.ReadFull(conn, answer); err != nil || answer[0] == 0x15 {
		os.Exit(1)
	}
}
