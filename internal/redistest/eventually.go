package redistest

import (
	"fmt"
	"testing"
	"time"
)

// Eventually asks again and again, on the test's own goroutine, and fails the test if it is not so in time. It takes
// what testify's of that name does. That one asks on a goroutine of its own, so its condition must not end the test,
// as require does, nor use it when it is over: this one's may.
func Eventually(t testing.TB, is func() bool, within, every time.Duration, what ...any) {
	t.Helper()
	if InTime(is, within, every) {
		return
	}
	said := ""
	if len(what) > 0 {
		said = ": " + fmt.Sprintf(fmt.Sprint(what[0]), what[1:]...)
	}
	t.Fatalf("not so after %v%s", within, said)
}

// InTime is [Eventually] for a test that goes on.
func InTime(is func() bool, within, every time.Duration) bool {
	for end := time.Now().Add(within); !is(); time.Sleep(every) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
