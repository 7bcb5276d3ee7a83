package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// startupRows: a program that imports the root package and only locks.
var startupRows = []row{
	{"a program that only locks, before main", "ms", goal{atMost: 3}, beforeMain},
}

// inits finds what GODEBUG=inittrace=1 prints of each package: how long its init took, and what it allocated.
var inits = regexp.MustCompile(`(?m)^init .* ([0-9.]+) ms clock, ([0-9]+) bytes`)

func beforeMain(t *testing.T, _ *redistest.Server) sides {
	program := filepath.Join(t.TempDir(), "startup")
	if out, err := exec.Command("go", "build", "-o", program, "./startup").CombinedOutput(); err != nil {
		t.Fatalf("building it: %v: %s", err, out)
	}
	var allocated int
	ours := func(time.Duration) (ms float64, err error) {
		start := exec.Command(program) // without an address it ends at once
		start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := start.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
		allocated = 0
		for _, m := range inits.FindAllSubmatch(out, -1) {
			one, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return 0, err
			}
			bytes, err := strconv.Atoi(string(m[2]))
			if err != nil {
				return 0, err
			}
			ms, allocated = ms+one, allocated+bytes
		}
		return ms, nil
	}
	return sides{ours: ours, note: func() string { return fmt.Sprintf("%.2f MB allocated", float64(allocated)/1e6) }}
}
