package reliable

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// waits has somebody receive and acknowledge, until the sum is over.
func (r *rig) waits(ctx context.Context, all *sync.WaitGroup, got chan<- string) {
	all.Go(func() {
		for m, err := range r.Consume(ctx) {
			if err == nil && m.Ack(context.Background()) == nil {
				got <- m.Value
			}
		}
	})
}

// awaitIdle waits until so many stand in line at the server.
func (r *rig) awaitIdle(n int) {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool {
		is, err := asInt(r.do("ZCARD", r.part("idle")))
		return err == nil && is == int64(n)
	}, soon, time.Millisecond)
}

// TestAMessageWakesOneOfMany processes that wait, also a delayed one.
func TestAMessageWakesOneOfMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	got := make(chan string, 100)
	const clients = 20
	for range clients {
		r.other().waits(ctx, &all, got)
	}
	r.awaitIdle(clients)
	began := time.Now()
	server.ResetStats()
	const n = 50
	for i := range n {
		var opts []AddOption
		if i%2 == 0 {
			opts = append(opts, WithDelay(20*time.Millisecond))
		}
		r.adds(strconv.Itoa(i), opts...)
		require.Equal(t, strconv.Itoa(i), redistest.Done(t, got))
	}
	scripts, took := server.ScriptCalls(t), time.Since(began)
	looks := int64(took/mostWait+1) * clients
	t.Logf("%d scripts for %d messages in %v", scripts, n, took)
	require.LessOrEqual(t, scripts, 6*n+looks, "an add; steps that take it, settle it and wait again; and who keeps the time")
}

// TestWhoKeepsTheTimeDies, and another sees to what is due.
func TestWhoKeepsTheTimeDies(t *testing.T) {
	t.Parallel()
	redistest.Within(t, mostWait, func() time.Duration { // nobody has kept the time
		server := redistest.Start(t)
		r := rigOn(t, server.Client(t))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		got := make(chan string, 100)
		proxied := make(map[string]*redistest.Proxy)
		for range 3 {
			client, proxy := redistest.ThroughProxy(t, server)
			o := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
			o.Queue = New[string](o.e, r.name)
			proxied[o.e.ClientID] = proxy
			o.waits(ctx, &all, got)
		}
		r.awaitIdle(3)
		r.adds("far", WithDelay(time.Hour))
		keeper := ""
		redistest.Eventually(t, func() bool {
			m := r.do("GET", r.part("keeper"))
			keeper, _ = m.ToString()
			return keeper != ""
		}, soon, time.Millisecond)
		began := time.Now()
		proxied[keeper].Refuse()
		proxied[keeper].CutAll()
		r.adds("soon", WithDelay(100*time.Millisecond))
		require.Equal(t, "soon", redistest.Done(t, got))
		took := time.Since(began)
		proxied[keeper].Accept()
		return took
	})
}

// TestAWakeThatFindsNobodyIsPassedOn to who waits in another process.
func TestAWakeThatFindsNobodyIsPassedOn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			longest := time.Duration(0)
			first, second := r.other(), r.other()
			for i := range 10 {
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() { _, _ = first.Receive(ctx) })
				r.awaitIdle(1)
				got := make(chan string, 1)
				end, stop := context.WithCancel(t.Context())
				second.waits(end, &all, got)
				r.awaitIdle(2)
				cancel() // the first is the longest in line
				r.adds(strconv.Itoa(i))
				began := time.Now()
				select {
				case v := <-got:
					require.Equal(t, strconv.Itoa(i), v)
				case <-time.After(soon):
					t.Fatal("nobody got it")
				}
				longest = max(longest, time.Since(began))
				stop()
				all.Wait()
				r.awaitIdle(0)
			}
			return longest
		})
	})
}

func TestWhoWaitsIsToldOfADelete(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			got := make(chan string, 10)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			r.other().waits(ctx, &all, got)
			r.awaitIdle(1)
			_, err := r.Delete(t.Context())
			require.NoError(t, err)
			began := time.Now()
			r.adds("a")
			require.Equal(t, "a", redistest.Done(t, got))
			return time.Since(began)
		})
	})
}
