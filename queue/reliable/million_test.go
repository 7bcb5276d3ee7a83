package reliable

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestManyAreDueAtOnce: no script keeps the server for long, so that another queue goes on meanwhile.
func TestManyAreDueAtOnce(t *testing.T) {
	t.Parallel()
	plain := func(int) []AddOption { return nil }
	for name, of := range map[string]struct {
		n    int
		kind func(i int) []AddOption
	}{
		"plain":     {redistest.Count(t, 4000, 1_000_000), plain},
		"all kinds": {redistest.Count(t, 4000, 200_000), kindOf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Config("slowlog-max-len", "1000000"))
			manyAreDue(t, server, of.n, of.kind)
		})
	}
}

func manyAreDue(t *testing.T, server *redistest.Server, n int, kind func(i int) []AddOption) {
	r := rigOn(t, server.Client(t))
	addDue(r, n, kind)
	s, err := r.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, n, s.Delayed, "nobody has moved one")
	beside, latencies := r.busy(server)
	r.do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	r.do("SLOWLOG", "RESET")
	began := time.Now()
	var handled atomic.Int64
	stop := r.serves(func(context.Context, *Message[string]) error {
		handled.Add(1)
		return nil
	}, WithConcurrency(200))
	redistest.Eventually(t, func() bool { return r.counter("acked") == int64(n) }, 20*soon, 10*time.Millisecond)
	took := time.Since(began)
	all := latencies()
	require.NoError(t, stop())
	require.EqualValues(t, n, handled.Load())
	require.NoError(t, beside())
	steps := r.scriptTimes(redistest.MatchScript(stepScript.Body()))
	t.Logf("%d in %v; %d steps, server time p50 %v, p99 %v, longest %v", n, took, len(steps), share(steps, 0.5), share(steps, 0.99), share(steps, 1))
	t.Logf("beside: %d messages, add to handler p50 %v, p99 %v, longest %v", len(all), share(all, 0.5), share(all, 0.99), share(all, 1))
	require.NotEmpty(t, all, "the other queue stood still")
	require.Less(t, share(steps, 0.5), 2*time.Millisecond, "of the rest the machine may be the cause")
	r.leaves()
}

// addDue adds messages which are all overdue before anybody looks.
func addDue(r *rig, n int, kind func(i int) []AddOption) {
	var all sync.WaitGroup
	for from := range 64 {
		all.Go(func() {
			for i := from; i < n; i += 64 {
				if _, err := r.Add(r.t.Context(), strconv.Itoa(i), append(kind(i), WithDelay(time.Millisecond))...); err != nil {
					r.t.Errorf("add %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	time.Sleep(2 * time.Millisecond)
}

// busy is another queue of the server, by clients of its own, and how long its messages take.
func (r *rig) busy(server *redistest.Server) (stop func() error, latencies func() []time.Duration) {
	other := rigOn(r.t, server.Client(r.t))
	var mu sync.Mutex
	var all []time.Duration
	stop = other.serves(func(_ context.Context, m *Message[string]) error {
		ns, err := strconv.ParseInt(m.Value, 10, 64)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, time.Since(time.Unix(0, ns)))
		return err
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	var adding sync.WaitGroup
	adding.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if _, err := other.Add(r.t.Context(), strconv.FormatInt(time.Now().UnixNano(), 10)); err != nil {
				r.t.Errorf("beside: %v", err)
			}
		}
	})
	return stop, func() []time.Duration {
		cancel()
		adding.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// scriptTimes is how long the server was at each call of a script, by its slow log.
func (r *rig) scriptTimes(is redistest.Match) (all []time.Duration) {
	r.t.Helper()
	m := r.do("SLOWLOG", "GET", "-1")
	entries, err := m.ToArray()
	require.NoError(r.t, err)
	for _, e := range entries {
		fields, err := e.ToArray()
		require.NoError(r.t, err)
		us, err := fields[2].AsInt64()
		require.NoError(r.t, err)
		words, err := fields[3].AsStrSlice()
		require.NoError(r.t, err)
		if is(words) {
			all = append(all, time.Duration(us)*time.Microsecond)
		}
	}
	return all
}

// share is what that part of all is not above.
func share(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(int(part*float64(len(sorted)))-1, 0)].Round(time.Microsecond)
}
