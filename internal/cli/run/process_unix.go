//go:build unix

package run

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	// EndingSignals end a wait for the lock.
	EndingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	// passedSignals are passed on to CMD.
	passedSignals = append(EndingSignals[:len(EndingSignals):len(EndingSignals)], syscall.SIGUSR1, syscall.SIGUSR2)
)

// OwnGroups says that there are process groups.
const OwnGroups = true

// signalGroup signals all processes of a group; they may have just ended.
func signalGroup(leader int, sig os.Signal) {
	if n, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-leader, n)
	}
}

// wake continues a child that is stopped.
func wake(c *Child) { c.Signal(syscall.SIGCONT) }

// hasTerminal reports whether the process has a controlling terminal.
func hasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// fromTerminal reports whether sig is one that a terminal sends to all of its
// foreground group, and we are of that. Who really sent it cannot be learned.
func fromTerminal(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// OutlivePipes has a write to a standard output that nobody reads fail, and not end
// the program.
func OutlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
