package reliable

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// failsOnce adds messages, each of which has an attempt behind it.
func (r *rig) failsOnce(n int) {
	r.t.Helper()
	var all []*Message[string]
	for i := range n {
		r.adds(strconv.Itoa(i))
		all = append(all, r.gets(strconv.Itoa(i)))
	}
	for _, m := range all {
		require.NoError(r.t, m.Nack(r.t.Context(), nil, WithDelay(0)))
	}
}

// mortal is a client that can be cut off, for the server as if it had been killed.
func (r *rig) mortal(server *redistest.Server, opts ...Option) (other *rig, dies func()) {
	client, proxy := redistest.ThroughProxy(r.t, server)
	other = &rig{t: r.t, raw: r.raw, e: engineOn(r.t, client)}
	other.Queue = New[string](other.e, r.name, opts...)
	return other, func() { proxy.Refuse(); proxy.BlackHole() }
}

// TestWhatWaitedForAHandlerInADeadProcess counts no attempt, unlike what the handler was at.
func TestWhatWaitedForAHandlerInADeadProcess(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		const n = 6
		r := rigOn(t, server.Client(t), WithMaxAttempts(2))
		r.failsOnce(n)
		other, dies := r.mortal(server, WithLease(3*time.Second))
		at := make(chan int64, 10*n)
		other.serves(func(ctx context.Context, m *Message[string]) error {
			at <- m.ID
			<-ctx.Done()
			return context.Cause(ctx)
		}, WithConcurrency(1), WithPrefetch(n), WithGrace(0))
		killer := redistest.Done(t, at)
		redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Running == n }, soon, time.Millisecond)
		dies()
		for range n - 1 {
			ctx, cancel := timeout(t)
			m, err := r.Receive(ctx)
			cancel()
			require.NoError(t, err)
			require.NotEqual(t, killer, m.ID)
			require.Equal(t, 3, m.Attempt, "a number is nobody else's")
			require.NoError(t, m.Ack(t.Context()))
		}
		info, err := r.Find(t.Context(), killer)
		require.NoError(t, err)
		require.Equal(t, Dead, info.State)
		require.EqualValues(t, 1, r.counter("dead"))
		_, err = r.Purge(t.Context())
		require.NoError(t, err)
		r.leaves()
	})
}

// TestWhatAReceiverHadCounts, since it was handed out.
func TestWhatAReceiverHadCounts(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t), WithMaxAttempts(2))
		r.failsOnce(1)
		other, dies := r.mortal(server, WithLease(time.Second))
		other.gets("0")
		dies()
		redistest.Eventually(t, func() bool { r.isEmpty(); return r.counter("dead") == 1 }, soon, 10*time.Millisecond)
	})
}

// joined is how many take from the queue by the terms of this handle.
func (r *rig) joined() int {
	c := r.consumer(r.policy)
	defer r.done(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.takers)
}

// TestWhatAReceiverHadBesideAServeCounts, though the Serve of these terms might have had it wait.
func TestWhatAReceiverHadBesideAServeCounts(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t), WithMaxAttempts(2))
		r.failsOnce(1)
		require.NoError(t, r.Pause(t.Context(), 0))
		other, dies := r.mortal(server, WithLease(time.Second))
		got := make(chan error, 1)
		go func() {
			_, err := other.Receive(t.Context())
			got <- err
		}()
		redistest.Eventually(t, func() bool { return other.joined() == 1 }, soon, time.Millisecond)
		other.serves(func(context.Context, *Message[string]) error { return nil }, WithGrace(0)) // it is behind the other
		redistest.Eventually(t, func() bool { return other.joined() == 2 }, soon, time.Millisecond)
		require.NoError(t, r.Resume(t.Context()))
		require.NoError(t, redistest.Done(t, got))
		dies()
		redistest.Eventually(t, func() bool { r.isEmpty(); return r.counter("dead") == 1 }, soon, 10*time.Millisecond)
	})
}

// TestWhatAPollHadBesideAServeCounts, and what the Serve had waits for its handler still.
func TestWhatAPollHadBesideAServeCounts(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t), WithMaxAttempts(2))
		r.failsOnce(2)
		other, dies := r.mortal(server, WithLease(time.Second))
		c := other.consumer(other.policy)
		defer other.done(c)
		serve := newTaker(1, true)
		serve.ahead = 1
		c.join(serve)
		defer c.leave(serve)
		m, err := other.Poll(t.Context())
		require.NoError(t, err)
		dies()
		ctx, cancel := timeout(t)
		defer cancel()
		waited, err := r.Receive(ctx)
		require.NoError(t, err)
		require.NotEqual(t, m.ID, waited.ID)
		require.NoError(t, waited.Ack(t.Context()))
		redistest.Eventually(t, func() bool { r.isEmpty(); return r.counter("dead") == 1 }, soon, 10*time.Millisecond)
	})
}

func TestAMessageWithASingleAttemptIsNotPrefetched(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		_, err := r.AddAll(t.Context(), make([]string, 5))
		require.NoError(t, err)
		began, end := make(chan struct{}, 10), make(chan struct{})
		stop := r.serves(func(context.Context, *Message[string]) error {
			began <- struct{}{}
			<-end
			return nil
		}, WithConcurrency(2), WithPrefetch(3), WithMaxAttempts(1))
		redistest.Done(t, began)
		redistest.Done(t, began)
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Running)
		require.EqualValues(t, 3, s.Ready)
		close(end)
		redistest.Eventually(t, func() bool { return r.counter("acked") == 5 }, soon, time.Millisecond)
		require.NoError(t, stop())
		r.leaves()
	})
}
