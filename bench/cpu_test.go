package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// clientCPU turns workers into a measure of the CPU time that this process
// spends on a pair, in microseconds. Unlike the time of a pair, it hardly
// depends on what else the machine does.
func clientCPU(_ *testing.T, _ *redistest.Server, w *workers) measure {
	return perPair(w, ownCPU)
}

// timeOfClient measures the CPU time of this process for a call of goroutines about one name.
func timeOfClient(name string, goroutines int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		return sides{ours: clientCPU(t, s, onOneKey(connect(t, name, s.Addr()), "hot", goroutines))}
	}
}

// ownCPU returns the CPU time of this process.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// serverCPU is the same for the server.
func serverCPU(t *testing.T, s *redistest.Server, w *workers) measure {
	c := s.Client(t)
	return perPair(w, func() (time.Duration, error) { return usedCPU(c) })
}

func perPair(w *workers, used func() (time.Duration, error)) measure {
	return func(d time.Duration) (float64, error) {
		before, err := used()
		if err != nil {
			return 0, err
		}
		pairs, err := w.runFor(d)
		if err != nil {
			return 0, err
		}
		after, err := used()
		return float64((after - before).Nanoseconds()) / 1e3 / float64(pairs), err
	}
}

func usedCPU(c rueidis.Client) (sum time.Duration, err error) {
	text, err := c.Do(context.Background(), c.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", line, err)
			}
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum, nil
}
