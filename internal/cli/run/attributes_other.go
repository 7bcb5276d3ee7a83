//go:build !unix

package run

import "syscall"

func childAttributes(bool) *syscall.SysProcAttr { return nil }
