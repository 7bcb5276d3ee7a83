package reliable

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// by is the same queue by a client of its own, with its settings.
func (r *rig) by(client rueidis.Client, change ...func(*core.Config)) *rig {
	other := &rig{t: r.t, raw: r.raw, e: engineOn(r.t, client, change...)}
	other.Queue = New[string](other.e, r.name)
	return other
}

// look has all look again who await the end of a message.
func (r *rig) look() {
	l := r.h.ears.Get(r.of.key)
	defer r.h.ears.Put(r.of.key, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pokeAll()
}

// TestTransferUnderARefusal: a wait that had begun goes on, nothing is added, and what a Transfer leaves is cancelled, at once or when the
// server accepts that again.
func TestTransferUnderARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse func(server *redistest.Server, proxy *redistest.Proxy) (accept func())
		adds   string // what the error of a Transfer contains that begins meanwhile
		frees  bool   // a cancellation is no matter of memory
	}{
		"OOM":      {func(server *redistest.Server, _ *redistest.Proxy) func() { return server.Refuse(redistest.OutOfMemory) }, "OOM", true},
		"READONLY": {func(server *redistest.Server, _ *redistest.Proxy) func() { return server.Refuse(redistest.ReadOnly) }, "", false},
		"LOADING": {func(_ *redistest.Server, proxy *redistest.Proxy) func() {
			return proxy.Answer(redistest.AnyScript(), "LOADING Redis is loading the dataset in memory").Cancel
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			r := rigOn(t, server.Client(t))
			client, proxy := redistest.ThroughProxy(t, server)
			waiter := r.by(client, func(c *core.Config) { c.WatchdogTimeout = 12 * time.Second }) // a refusal is borne for less time than silence
			waits := waiter.transfers(t.Context(), "waits")
			m := r.gets("waits")
			leaving, leave := context.WithCancel(t.Context())
			leaves := waiter.transfers(leaving, "leaves", WithDelay(time.Hour))
			waiter.awaitsTransfers(2)

			accept := c.refuse(server, proxy)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			id, err := waiter.Transfer(ctx, "refused")
			require.Error(t, err)
			require.Zero(t, id)
			require.ErrorContains(t, err, c.adds)
			waiter.look()
			leave()
			got := redistest.Done(t, leaves)
			require.NotZero(t, got.id)
			require.ErrorIs(t, got.err, context.Canceled)
			if c.frees {
				require.ErrorIs(t, got.err, ErrRemoved)
				require.NotErrorIs(t, got.err, ErrTaken)
			} else {
				require.ErrorIs(t, got.err, ErrOutcomeUnknown)
				require.NotErrorIs(t, got.err, ErrRemoved)
			}
			require.Empty(t, waits)
			accept()
			redistest.Eventually(t, func() bool { return r.counter("removed") >= 1 }, soon, time.Millisecond)
			_, err = r.Find(t.Context(), got.id)
			require.ErrorIs(t, err, ErrNotFound)
			require.NoError(t, m.Ack(t.Context()))
			waiter.look()
			end := redistest.Done(t, waits)
			require.NoError(t, end.err)
			require.Equal(t, m.ID, end.id)
			redistest.Eventually(t, func() bool { // the refused one may have been added when its Transfer had left, and is cancelled then
				s, err := r.Stats(t.Context())
				return err == nil && s.Added == s.Acked+s.Removed
			}, soon, time.Millisecond)
			r.leaves()
		})
	}
}

// transferLoad is transfers that run all the while, and consumers that handle them.
type transferLoad struct {
	t              *testing.T
	sender, worker *rig

	mu      sync.Mutex
	begun   map[string]int64 // ids of what a handler has seen
	handled map[string]int64 // and of what a handler was done with
	answers map[string]transferred
	acked   int // answers without an error
}

// transfersThrough has transfers run while something happens to the server, until fault has returned and as many again have ended. Each
// was acknowledged that says so. No consumer has seen what was removed before it was taken, or was not added; if the server forgets something,
// that is judged of the transfers that had ended before, and fault first has what the server knew of them kept.
func transfersThrough(t *testing.T, sender, worker *rig, forgets bool, fault func(l *transferLoad)) {
	t.Helper()
	l := &transferLoad{t: t, sender: sender, worker: worker, begun: map[string]int64{}, handled: map[string]int64{}, answers: map[string]transferred{}}
	stop := worker.serves(l.handle, WithConcurrency(8))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer func() { _ = stop() }()
	defer all.Wait()
	defer cancel()
	for i := range 8 {
		all.Go(func() { l.send(ctx, strconv.Itoa(i)+":") })
	}
	enough := redistest.Count(t, 50, 1000)
	l.awaits(enough)
	l.mu.Lock()
	before := maps.Clone(l.answers)
	l.mu.Unlock()
	fault(l)
	l.awaits(enough)
	cancel()
	all.Wait()
	require.NoError(t, stop())
	l.judge(func(v string) bool { _, is := before[v]; return is || !forgets })
}

func (l *transferLoad) handle(_ context.Context, m *Message[string]) error {
	l.mu.Lock()
	l.begun[m.Value] = m.ID
	l.mu.Unlock()
	time.Sleep(rand.N(5 * time.Millisecond))
	if rand.N(20) == 0 {
		return RetryIn(errAgain, time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handled[m.Value] = m.ID
	return nil
}

// send transfers one message after the other. Some have little time.
func (l *transferLoad) send(ctx context.Context, prefix string) {
	for i := 0; ctx.Err() == nil; i++ {
		v, patience := prefix+strconv.Itoa(i), soon
		if i%2 == 1 {
			patience = rand.N(20 * time.Millisecond)
		}
		within, cancel := context.WithTimeout(l.t.Context(), patience)
		id, err := l.sender.Transfer(within, v)
		cancel()
		l.mu.Lock()
		l.answers[v] = transferred{id, err}
		if err == nil {
			l.acked++
		}
		l.mu.Unlock()
	}
}

// awaits waits until n more messages were acknowledged.
func (l *transferLoad) awaits(n int) {
	l.t.Helper()
	count := func() int { l.mu.Lock(); defer l.mu.Unlock(); return l.acked }
	enough := count() + n
	redistest.Eventually(l.t, func() bool { return count() >= enough }, soon, time.Millisecond)
}

// unknown counts the answers that do not say what became of the message.
func (l *transferLoad) unknown() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, got := range l.answers {
		if errors.Is(got.err, ErrOutcomeUnknown) {
			n++
		}
	}
	return n
}

// judge holds the answers against what the consumers have seen. kept reports whether the server has forgotten nothing of a message.
func (l *transferLoad) judge(kept func(v string) bool) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for v, got := range l.answers {
		_, seen := l.begun[v]
		switch {
		case got.err == nil:
			counts["acknowledged"]++
			require.Equal(l.t, l.handled[v], got.id, v)
		case errors.Is(got.err, ErrOutcomeUnknown):
			counts["unknown"]++
		case errors.Is(got.err, ErrRemoved) && errors.Is(got.err, ErrTaken):
			counts["taken"]++
		case errors.Is(got.err, ErrRemoved):
			counts["removed"]++
			require.False(l.t, seen && kept(v), "%s: %v", v, got.err)
		default:
			require.Zero(l.t, got.id)
			require.True(l.t, errors.Is(got.err, context.DeadlineExceeded) || send.Transient(got.err), "%s: %v", v, got.err)
			counts["not added"]++
			require.False(l.t, seen && kept(v), "%s: %v", v, got.err)
		}
	}
	l.t.Log(counts)
	require.Positive(l.t, counts["acknowledged"])
}

// quickly has a client bear silence and refusals for two seconds.
func quickly(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }

// slotMovesUnderTransfers has transfers tell the truth while their slot moves.
func slotMovesUnderTransfers(t *testing.T, cluster *redistest.Cluster) {
	r := rigOn(t, cluster.Client(t))
	transfersThrough(t, r.by(cluster.Client(t), quickly), r.by(cluster.Client(t), quickly), false, func(l *transferLoad) {
		m := cluster.StartMigration(t, r.part("body"))
		m.Move(t, r.part("body"), r.part("ready"))
		before := l.unknown()
		redistest.Eventually(t, func() bool { return l.unknown() > before+3 }, soon, time.Millisecond) // they leave while the server refuses them
		m.Move(t, r.part("lease"))
		m.Finish(t)
	})
	r.leavesOn()
}

// slotMovesUnderACancellation, for longer than a Transfer waits for it: the message is cancelled when the slot has moved.
func slotMovesUnderACancellation(t *testing.T, cluster *redistest.Cluster) {
	r := rigOn(t, cluster.Client(t))
	waiter := r.by(cluster.Client(t), quickly)
	ctx, cancel := context.WithCancel(t.Context())
	late, leave := context.WithCancel(t.Context())
	done, later := waiter.transfers(ctx, "a", WithDelay(time.Hour)), waiter.transfers(late, "b", WithDelay(time.Hour))
	waiter.awaitsTransfers(2)
	m := cluster.StartMigration(t, r.part("body"))
	m.Move(t, r.part("body"))
	cancel()
	got := redistest.Done(t, done)
	require.ErrorIs(t, got.err, ErrOutcomeUnknown)
	require.ErrorIs(t, got.err, context.Canceled)
	require.NotErrorIs(t, got.err, ErrRemoved)
	require.NotZero(t, got.id)
	leave()
	m.Finish(t)
	end := redistest.Done(t, later)
	require.ErrorIs(t, end.err, ErrRemoved)
	require.NotErrorIs(t, end.err, ErrTaken)
	redistest.Eventually(t, func() bool { return r.counterOn("removed") == 2 }, soon, time.Millisecond)
	r.leaves()
}

// transfersWithAReplica is what becomes of transfers when a replica takes over that has heard of everything.
func transfersWithAReplica(t *testing.T, cluster *redistest.Cluster) {
	r := rigOn(t, cluster.Client(t))
	transfersThrough(t, r.by(cluster.Client(t), quickly), r.by(cluster.Client(t), quickly), false, func(*transferLoad) {
		master, replica := cluster.Master(r.part("body")), cluster.Replica(r.part("body"))
		redistest.Do(t, replica.Client(t), "CLUSTER", "FAILOVER")
		cluster.AwaitMaster(t, r.part("body"), master.Addr())
		cluster.AwaitComplete(t)
	})
	r.leavesOn()
}

// leavesOn waits until nothing of the messages is left: cancellations go on when their callers have left.
func (r *rig) leavesOn() {
	r.t.Helper()
	redistest.Eventually(r.t, func() bool {
		s, err := r.Stats(r.t.Context())
		return err == nil && s.Ready+s.Delayed+s.Running+s.Behind == 0
	}, soon, 10*time.Millisecond)
}

// TestTransfersUnderAFailover: the master dies with what the replica has not heard of. All goes on, and what is said to be acknowledged was
// handled. What no consumer had until a little before is judged, too: the replica has heard of that.
func TestTransfersUnderAFailover(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	r := rigOn(t, sentinel.Client(t))
	transfersThrough(t, r.by(sentinel.Client(t), quickly), r.by(sentinel.Client(t), quickly), true, func(*transferLoad) {
		master := sentinel.Master()
		knows, done := master.Client(t).Dedicate() // WAIT counts what its own connection has written
		defer done()
		require.NoError(t, knows.Do(t.Context(), knows.B().Set().Key("before").Value("the fault").Build()).Error())
		replicas, err := knows.Do(t.Context(), knows.B().Arbitrary("WAIT", "1", "0").Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 1, replicas)
		master.Kill()
		sentinel.AwaitMaster(t, master.Addr())
	})
}
