//go:build !linux

package combine

import "time"

// sleep pauses for d.
func sleep(d time.Duration) { time.Sleep(d) }
