package core

import (
	"fmt"
	"time"
)

const (
	// ShortestLease leaves room for the margin and a round trip.
	ShortestLease = 10 * time.Millisecond
	// LongestLease keeps deadlines inside time.Duration, which counts 292
	// years; the server's 2^53 ms lie far beyond.
	LongestLease = 100 * 365 * 24 * time.Hour
)

// CheckLease refuses leases that the margin would eat or that no clock counts.
func CheckLease(d time.Duration) error {
	if d < ShortestLease {
		return fmt.Errorf("%w: lease %v is below %v", ErrInvalidArgument, d, ShortestLease)
	}
	if d > LongestLease {
		return fmt.Errorf("%w: lease %v is above %v", ErrInvalidArgument, d, LongestLease)
	}
	return nil
}

// Millis returns d in whole milliseconds, rounded up.
func Millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
