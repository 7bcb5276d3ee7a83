//go:build !linux

package redistest

import "syscall"

// attributes are none here: without a parent-death signal, what we start stays in our process group, so that an
// interrupt from the terminal reaches it too.
func attributes(bool) *syscall.SysProcAttr { return nil }

func killGroup(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
