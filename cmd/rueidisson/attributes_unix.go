//go:build unix && !linux

package main

import "syscall"

func childAttributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
