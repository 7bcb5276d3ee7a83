//go:build !linux

package proc

import "time"

// AwaitStopped trusts the signal: there is no /proc to ask.
func AwaitStopped(int, time.Duration) error { return nil }

// Stopping reports false: there is no /proc to ask.
func Stopping(int) bool { return false }
