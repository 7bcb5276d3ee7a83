//go:build !unix

package run

import "os"

var (
	// EndingSignals end a wait for the lock.
	EndingSignals = []os.Signal{os.Interrupt}
	passedSignals = EndingSignals
)

// OwnGroups says that there are no process groups.
const OwnGroups = false

func signalGroup(int, os.Signal) {}

func wake(*Child) {}

// hasTerminal is true: there are no process groups, and CMD shares the console.
func hasTerminal() bool { return true }

// fromTerminal is true: an interrupt is always the console's, which tells all.
func fromTerminal(os.Signal) bool { return true }

// OutlivePipes does nothing: a write to a closed pipe fails.
func OutlivePipes() {}
