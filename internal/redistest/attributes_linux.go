package redistest

import "syscall"

// attributes let the kernel kill what we start when this process dies, however it dies. A server gets a process
// group of its own, so that its forks (a snapshot under way) can be killed with it.
func attributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: group}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
