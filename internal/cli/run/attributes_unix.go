//go:build unix && !linux

package run

import "syscall"

func childAttributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
