package crew

import "syscall"

// attributes let the kernel kill a member when this process dies, however it
// dies. Elsewhere it ends by itself, when its standard input does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
