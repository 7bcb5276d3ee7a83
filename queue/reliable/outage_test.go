package reliable

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAServerThatIsFull refuses messages, and lets those that are there be handled: so it
// gets empty again.
func TestAServerThatIsFull(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t)).with(WithLease(2 * time.Second))
		for _, v := range []string{"a", "b", "c"} {
			r.adds(v, WithGroup("g"))
		}
		m := r.gets("a")
		r.do("CONFIG", "SET", "maxmemory", "1")
		_, err := r.Add(t.Context(), "d")
		require.ErrorContains(t, err, "OOM")
		require.NoError(t, m.Extend(t.Context(), 10*time.Second))
		require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
		r.acks("a", "b")
		m = r.gets("c")
		time.Sleep(2500 * time.Millisecond) // renewals get through
		require.NoError(t, m.Ack(t.Context()))
		r.do("CONFIG", "SET", "maxmemory", "0")
		r.adds("d")
		r.acks("d")
		r.leaves()
	})
}

// TestAFailoverUnderLoad counts what was accepted and lost: the promise is that nobody
// stalls.
func TestAFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	quickly := func(c *engine.Config) { c.WatchdogTimeout = 6 * time.Second }
	name := redistest.Name(t)
	adder := New[string](engineOn(t, sentinel.Client(t), quickly), name)
	worker := New[string](engineOn(t, sentinel.Client(t), quickly), name)
	var mu sync.Mutex
	accepted, came := map[string]bool{}, map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				v := strconv.Itoa(i) + ":" + strconv.Itoa(j)
				if _, err := adder.Add(context.Background(), v); err == nil {
					mu.Lock()
					accepted[v] = true
					mu.Unlock()
				}
			}
		})
	}
	serving, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Serve(serving, func(_ context.Context, m *Message[string]) error {
			mu.Lock()
			defer mu.Unlock()
			came[m.Value]++
			return nil
		})
	}()
	handled := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(came)
	}
	redistest.Eventually(t, func() bool { return handled() > 500 }, soon, time.Millisecond)
	master := sentinel.Master()
	master.Kill()
	sentinel.AwaitMaster(t, master.Addr())
	before := handled()
	redistest.Eventually(t, func() bool { return handled() > before+500 }, soon, time.Millisecond)
	cancel()
	all.Wait()
	redistest.Eventually(t, func() bool {
		s, err := adder.Stats(t.Context())
		return err == nil && s.Ready+s.Delayed+s.Running+s.Behind == 0
	}, soon, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	lost, twice := 0, 0
	for v := range accepted {
		if came[v] == 0 {
			lost++
		}
	}
	for _, n := range came {
		if n > 1 {
			twice++
		}
	}
	t.Logf("%d accepted, %d of them lost by the failover, %d handled twice", len(accepted), lost, twice)
}
