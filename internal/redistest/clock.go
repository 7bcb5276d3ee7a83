package redistest

import (
	_ "embed"
	bits "encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var clockSource string

// Clock is what time a server believes it is, see [StartWithClock].
type Clock struct {
	t    testing.TB
	file string // what it is ahead of this machine's, in µs
}

// StartWithClock is [Start] of a server whose clock the test sets: a library that is loaded before it answers when it
// asks for the time of day. How much time passes it sees as it is. It takes a C compiler: without one the test is
// skipped, or fails where servers are required.
func StartWithClock(t testing.TB, opts ...Option) (*Server, *Clock) {
	t.Helper()
	compiler := needCompiler(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	c := &Clock{t: t, file: in("ahead")}
	c.Set(0)
	c.check(os.WriteFile(in("clock.c"), []byte(clockSource), 0o600))
	if said, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", in("clock.so"), in("clock.c")).CombinedOutput(); err != nil {
		t.Fatalf("redistest: %v\n%s", err, said)
	}
	return Start(t, append(opts, func(o *options) {
		o.wrap = func(binary string) string {
			lines := []string{"#!/bin/sh", "export REDISTEST_CLOCK='" + c.file + "'", "export LD_PRELOAD='" + in("clock.so") + "'", `exec '` + binary + `' "$@"`, ""}
			c.check(os.WriteFile(in("server"), []byte(strings.Join(lines, "\n")), 0o700))
			return in("server")
		}
	})...), c
}

// needCompiler returns the C compiler.
func needCompiler(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED, NOT TESTED: a server's clock is set by a library that is preloaded, which needs Linux")
	}
	compiler, err := exec.LookPath("cc")
	if err == nil {
		return compiler
	}
	if os.Getenv("RUEIDISSON_REQUIRE_SERVERS") == "1" {
		t.Fatal("redistest: no C compiler, cc, on this machine, for a server whose clock is set: `make test` installs it")
		return ""
	}
	t.Skip("SKIPPED, NOT TESTED: no C compiler, cc, on this machine, for a server whose clock is set: `make test` installs it")
	return ""
}

// Set sets the clock ahead of this machine's by so much, or back behind it.
func (c *Clock) Set(ahead time.Duration) {
	c.t.Helper()
	var bytes [8]byte
	bits.NativeEndian.PutUint64(bytes[:], uint64(ahead.Microseconds()))
	file, err := os.OpenFile(c.file, os.O_RDWR|os.O_CREATE, 0o600)
	c.check(err)
	defer file.Close()
	_, err = file.WriteAt(bytes[:], 0) // in place: the server has it mapped
	c.check(err)
}

func (c *Clock) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal("redistest:", err)
	}
}
