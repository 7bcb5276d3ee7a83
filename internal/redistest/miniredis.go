package redistest

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/embedded"
)

// Miniredis returns the server that runs inside the process, with the machine's clock. It is closed when the test ends.
func Miniredis(t testing.TB) *embedded.Server {
	t.Helper()
	s, err := embedded.Start()
	if err != nil {
		t.Fatalf("redistest: miniredis: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}
