//go:build !unix

package main

import "os"

var (
	endingSignals = []os.Signal{os.Interrupt}
	passedSignals = endingSignals
)

// ownGroups says that there are no process groups.
const ownGroups = false

func signalGroup(int, os.Signal) {}

func wake(*child) {}

// hasTerminal is true: there are no process groups, and CMD shares the console.
func hasTerminal() bool { return true }

// fromTerminal is true: an interrupt is always the console's, which tells all.
func fromTerminal(os.Signal) bool { return true }

func outlivePipes() {}
