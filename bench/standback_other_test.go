//go:build !linux

package bench

import "runtime"

// standBack lets another goroutine have the processor.
func standBack() { runtime.Gosched() }
