//go:build !unix

package main

import "syscall"

func childAttributes(bool) *syscall.SysProcAttr { return nil }
