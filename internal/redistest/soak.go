package redistest

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// soakSwitch is how `make soak` asks for the large counts.
const soakSwitch = "RUEIDISSON_SOAK"

// Count returns how often a test does what it repeats: everyday in `make test`, soak in `make soak`, which prints it. The
// everyday count is enough to see the code fail if it is wrong in a usual way, and is there for the time it takes; the
// full count is that of soak.
func Count(t testing.TB, everyday, soak int) int {
	t.Helper()
	return scaled(t, everyday, soak)
}

// Span is [Count] for how long a test does something.
func Span(t testing.TB, everyday, soak time.Duration) time.Duration {
	t.Helper()
	return scaled(t, everyday, soak)
}

func scaled[N int | time.Duration](t testing.TB, everyday, soak N) N {
	t.Helper()
	if everyday <= 0 || soak < everyday {
		t.Fatalf("redistest: %v everyday and %v in a soak: a soak is at least an everyday run, which is something", everyday, soak)
	}
	if !Soaking() {
		return everyday
	}
	t.Attr("soak", fmt.Sprintf("%v instead of %v", soak, everyday))
	return soak
}

// Soaking reports whether this is a run of `make soak`.
func Soaking() bool { return os.Getenv(soakSwitch) == "1" }
