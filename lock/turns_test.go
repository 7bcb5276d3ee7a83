package lock_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// takeTurns locks and unlocks from several goroutines for a while, and says
// how often it got the lock. It is bounded in time by FOR.
func takeTurns(p *redistest.Parent) {
	hold, _ := time.ParseDuration(os.Getenv("HOLD"))
	span, _ := time.ParseDuration(os.Getenv("FOR"))
	goroutines, _ := strconv.Atoi(os.Getenv("GOROUTINES"))
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: strings.Split(os.Getenv("REDIS"), ","), DisableCache: true})
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("ready")
	if _, ok := p.Hear(); !ok {
		return
	}
	n, err := count(c, os.Getenv("NAME"), goroutines, hold, span)
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("got %d", n)
	_ = c.Close(context.Background())
}

func count(c *rueidisson.Client, name string, goroutines int, hold, span time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	counts, errs := make([]int, goroutines), make([]error, goroutines)
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() { counts[i], errs[i] = countOne(ctx, c, name, hold) })
	}
	all.Wait()
	sum := 0
	for i := range counts {
		sum += counts[i]
		if errs[i] != nil {
			return 0, errs[i]
		}
	}
	return sum, nil
}

// countOne ends with ctx. A hold takes as long as a timer of that length.
func countOne(ctx context.Context, c *rueidisson.Client, name string, hold time.Duration) (n int, err error) {
	l := c.Lock(name)
	for ctx.Err() == nil {
		h, err := l.Lock(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return n, nil
			}
			return n, err
		}
		n++
		if hold > 0 {
			<-time.After(hold)
		}
		if err := h.Unlock(context.WithoutCancel(ctx)); err != nil { // ctx may end at any moment
			return n, err
		}
	}
	return n, nil
}

const (
	turnProcesses  = 4
	turnGoroutines = 8
)

// shares lets the processes contend for one lock, and returns how much of a
// fair share each of them got.
func shares(t *testing.T, addrs []string, hold, span time.Duration) []float64 {
	t.Helper()
	name := redistest.Name(t)
	var children []*redistest.Child
	for range turnProcesses {
		children = append(children, redistest.StartChild(t, "taking-turns", "REDIS="+strings.Join(addrs, ","), "NAME="+name,
			"HOLD="+hold.String(), "FOR="+span.String(), fmt.Sprintf("GOROUTINES=%d", turnGoroutines)))
	}
	for _, child := range children {
		child.Await("ready")
	}
	for _, child := range children {
		child.Send("go")
	}
	counts, sum := make([]float64, turnProcesses), 0.0
	for i, child := range children {
		got, _ := child.AwaitFor("got", span+30*time.Second)
		_, err := fmt.Sscanf(got, "got %g", &counts[i])
		require.NoError(t, err)
		sum += counts[i]
	}
	for i := range counts {
		counts[i] *= turnProcesses / sum
	}
	t.Logf("hold time %v: %.0f acquisitions/s, shares of a fair one: %.3f", hold, sum/span.Seconds(), counts)
	return counts
}

func smallest(shares []float64) float64 {
	least := shares[0]
	for _, s := range shares {
		least = min(least, s)
	}
	return least
}

// These run beside nothing else: what they count is how the processes share,
// not how the machine does.

func TestProcessesTakeTurns(t *testing.T) {
	span := redistest.Span(t, 3*time.Second, 30*time.Second)
	got := shares(t, []string{redistest.Shared(t).Addr()}, time.Millisecond, span)
	require.GreaterOrEqual(t, smallest(got), 0.8)
}

func TestProcessesTakeTurnsWithoutHoldTime(t *testing.T) {
	span := redistest.Span(t, 2*time.Second, 30*time.Second)
	got := shares(t, []string{redistest.Shared(t).Addr()}, 0, span)
	require.GreaterOrEqual(t, smallest(got), 0.5)
}

func TestProcessesTakeTurnsOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	span := redistest.Span(t, 3*time.Second, 30*time.Second)
	got := shares(t, cluster.Addrs(), time.Millisecond, span)
	require.GreaterOrEqual(t, smallest(got), 0.5)
}
