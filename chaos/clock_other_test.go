//go:build !linux

package chaos

import "time"

// now returns the machine's time, which somebody may set.
func now() int64 { return time.Now().UnixNano() }
