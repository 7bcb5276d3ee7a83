package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timedNotes is a TB that notes what [Within] says of a test.
type timedNotes struct {
	testing.TB
	lines  []string
	failed bool
}

func (n *timedNotes) Helper()                 {}
func (n *timedNotes) Attr(key, _ string)      { n.lines = append(n.lines, key) }
func (n *timedNotes) Logf(f string, a ...any) { n.lines = append(n.lines, fmt.Sprintf(f, a...)) }
func (n *timedNotes) Fatalf(f string, a ...any) {
	n.failed = true
	n.Logf(f, a...)
	runtime.Goexit()
}

// judged returns what Within said of the rounds, and whether it failed the test.
func judged(limit time.Duration, round func() time.Duration) (said string, failed bool) {
	n := &timedNotes{}
	var ended sync.WaitGroup
	ended.Go(func() { Within(n, limit, round) }) // a goroutine, since Fatalf ends it
	ended.Wait()
	return strings.Join(n.lines, "\n"), n.failed
}

func TestWithinPassesWhatIsInTime(t *testing.T) {
	t.Parallel()
	said, failed := judged(time.Hour, func() time.Duration { return time.Hour })
	require.False(t, failed)
	require.Equal(t, "rounds", said)
}

func TestWithinFailsWhatIsLate(t *testing.T) {
	t.Parallel()
	said, failed := judged(time.Hour, func() time.Duration { return time.Hour + 1 })
	require.True(t, failed)
	require.Contains(t, said, "it took 1h0m0.000000001s")
}

// stopsItself is a child that stands still for a while in the first of its rounds, or in all, and is late in these.
func stopsItself(p *Parent) {
	rounds, stops := 0, 1
	if os.Getenv("ALWAYS") != "" {
		stops = timedRounds
	}
	said, failed := judged(time.Second, func() time.Duration {
		rounds++
		if rounds > stops {
			return time.Second
		}
		_ = exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %[1]d; sleep 1; kill -CONT %[1]d", os.Getpid())).Run()
		return time.Second + 1
	})
	p.Say("%d rounds, failed %v, repeated %d", rounds, failed, strings.Count(said, "is not judged"))
}

func TestWithinRepeatsALateRoundInWhichTheProcessStoodStill(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "stops itself")
	require.Equal(t, "2 rounds, failed false, repeated 1", c.Await(""))
}

func TestWithinFailsWhenNoLateRoundCouldBeJudged(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "stops itself", "ALWAYS=yes")
	require.Equal(t, "5 rounds, failed true, repeated 5", c.Await(""))
}
