package redistest

import (
	"testing"
	"time"
)

// Soon is the one limit for what has to happen: generous, and scaled to this machine. Nothing waits for it when all is
// well.
var Soon = Scaled(time.Minute)

// Done returns what came of something that has to end.
func Done[T any](t testing.TB, done <-chan T) (end T) {
	t.Helper()
	select {
	case end = <-done:
	case <-time.After(Soon):
		t.Fatal("it waits still")
	}
	return end
}

// Waits fails if something ends that has to wait for now.
func Waits[T any](t testing.TB, done <-chan T) {
	t.Helper()
	select {
	case end := <-done:
		t.Fatalf("it waits no longer: %v", end)
	case <-time.After(20 * time.Millisecond):
	}
}
