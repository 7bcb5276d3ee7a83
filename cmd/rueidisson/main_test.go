package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// asTool makes the test binary be the tool itself. Commands under a lock inherit
// it, so that "$TOOL" in their scripts is the tool too.
const asTool = "RUEIDISSON_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
	}
	heedSignals()
	redistest.Main(m)
}

// heedSignals makes the tool hear what the tests send it. A job in the
// background or under nohup ignores some signals, and so would what it starts;
// one that is handled here is nothing special there.
func heedSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
