package main

import "syscall"

// attributes let the kernel kill a counter when this process dies, however it
// dies. Elsewhere it ends by itself, when its standard input does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
