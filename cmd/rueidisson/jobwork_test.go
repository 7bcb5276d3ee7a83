//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// jobWorld is a queue on a server, and workers of it.
type jobWorld struct {
	world
	q *reliable.Queue[string]
}

func newJobWorld(t *testing.T) jobWorld {
	t.Helper()
	w := newWorld(t)
	return jobWorld{w, reliable.New[string](w.client(), w.name)}
}

func (w jobWorld) adds(bodies ...string) (ids []int64) {
	w.t.Helper()
	ids, err := w.q.AddAll(w.t.Context(), bodies)
	require.NoError(w.t, err)
	return ids
}

// works has a script work.
func (w jobWorld) works(script string, flags ...string) *process {
	w.t.Helper()
	return start(w.t, w.url, append(append([]string{"job", "work", w.name}, flags...), "--", "sh", "-c", script)...)
}

func (w jobWorld) ready() int64 { return w.number("LLEN", "rueidisson_queue_ready:{"+w.name+"}") }

// gone waits until nothing is left but what is counted.
func (w jobWorld) gone() {
	w.t.Helper()
	redistest.Eventually(w.t, func() bool { return w.number("EXISTS", "rueidisson_queue_body:{"+w.name+"}") == 0 }, patience, 5*time.Millisecond)
}

// receives takes a message here.
func (w jobWorld) receives() *reliable.Message[string] {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	m, err := w.q.Receive(ctx)
	require.NoError(w.t, err)
	return m
}

func TestWorkersShareTheJobs(t *testing.T) {
	w := newJobWorld(t)
	gate := filepath.Join(t.TempDir(), "gate")
	script := `echo ready; while [ ! -e '` + gate + `' ]; do sleep 0.02; done; echo "$(cat)"`
	one, other := w.works(script, "--concurrency", "2"), w.works(script)
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint("job ", i))
	}
	w.adds(want...)
	one.await("ready")
	other.await("ready") // at the same time as one's two
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	w.gone()
	for _, p := range []*process{one, other} {
		p.signal(syscall.SIGTERM)
		require.Zero(t, p.code())
		require.Empty(t, p.errors())
	}
	said := slices.DeleteFunc(append(one.said(), other.said()...), func(line string) bool { return line == "ready" })
	require.ElementsMatch(t, want, said)
}

// TestASignalLetsTheJobUnderWayEnd, and leaves the others.
func TestASignalLetsTheJobUnderWayEnd(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			w := newJobWorld(t)
			w.adds("one", "two")
			gate := filepath.Join(t.TempDir(), "gate")
			require.NoError(t, syscall.Mkfifo(gate, 0o600))
			p := w.works(`echo ready; read open < '` + gate + `'; echo done`)
			p.await("ready")
			p.signal(sig)
			require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0))
			require.Zero(t, p.code())
			require.Equal(t, int64(1), w.ready())
		})
	}
}

func TestUserSignalsArePassedOnToTheJobsUnderWay(t *testing.T) {
	w := newJobWorld(t)
	w.adds("one")
	p := w.works(waiter(`trap "echo heard" USR1; trap "exit 0" USR2`))
	p.await("ready")
	p.signal(syscall.SIGUSR1)
	p.await("heard")
	p.signal(syscall.SIGUSR2)
	w.gone()
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.code())
}

// TestWhenGraceIsOverAJobGoesBack, and the attempt does not count.
func TestWhenGraceIsOverAJobGoesBack(t *testing.T) {
	for name, end := range map[string]func(p *process){
		"grace": func(p *process) { p.signal(syscall.SIGTERM) },
		"signal": func(p *process) {
			p.signal(syscall.SIGINT)
			time.Sleep(50 * time.Millisecond)
			p.signal(syscall.SIGINT)
		},
		"for": func(*process) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			id := w.adds("one")[0]
			flags := map[string][]string{"grace": {"--grace", "100ms"}, "signal": {"--grace", "10m"}, "for": {"--grace", "0", "--for", "5s"}}
			p := w.works(waiter(`trap "echo asked" TERM`), flags[name]...)
			p.await("ready")
			end(p)
			require.Zero(t, p.code())
			p.await("asked")
			require.Contains(t, p.errors(), fmt.Sprintf("job %d, attempt 1: released", id))
			m := w.receives()
			require.Equal(t, 1, m.Attempt)
			require.NoError(t, m.Ack(t.Context()))
		})
	}
}

// TestALostJobEndsItsCommand, and the worker goes on.
func TestALostJobEndsItsCommand(t *testing.T) {
	w := newJobWorld(t)
	w.adds("one")
	p := w.works(`read -r body; trap "echo asked; exit 0" TERM; echo ready; while [ "$body" = one ]; do sleep 0.02; done; echo "$body"`, "--lease", redistest.Scaled(3*time.Second).String(), "--for", "20s")
	p.await("ready")
	require.Equal(t, int64(1), w.number("DEL", "rueidisson_queue_lease:{"+w.name+"}"))
	p.await("asked")
	w.adds("two")
	p.await("two")
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.code())
	require.Contains(t, p.errors(), "attempt 1: lost: ")
}

func TestALostJobIs76WhereTheEndIsKnown(t *testing.T) {
	w := newJobWorld(t)
	w.adds("one")
	p := w.works(waiter("trap 'exit 0' TERM"), "--lease", redistest.Scaled(3*time.Second).String(), "--drain")
	p.await("ready")
	require.Equal(t, int64(1), w.number("DEL", "rueidisson_queue_lease:{"+w.name+"}"))
	require.Equal(t, exit.Lost, p.code())
}

// TestWhatAJobLeavesInTheBackgroundIsNotWaitedFor, though it has the standard error
// that the last words are read from.
func TestWhatAJobLeavesInTheBackgroundIsNotWaitedFor(t *testing.T) {
	w := newJobWorld(t)
	w.adds(strings.Repeat("long", 100_000), "two")
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	p := w.works(`{ read open < '`+gate+`'; } & echo started`, "--drain")
	require.Zero(t, p.code())
	require.Equal(t, []string{"started", "started"}, p.said())
	f, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err, "they are there still")
	require.NoError(t, f.Close())
	w.gone()
}
