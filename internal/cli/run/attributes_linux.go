package run

import "syscall"

// childAttributes let the kernel kill CMD when the tool dies, however it dies:
// nobody would end it when the lock goes to another.
func childAttributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: group}
}
