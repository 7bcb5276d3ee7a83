package peer

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets the kernel kill the child when the test process ends, even by SIGKILL or a panic.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
