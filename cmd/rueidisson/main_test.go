package main

import (
	"os"
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
	redistest.Main(m)
}
