package reliable

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// TestWaitIsNotToldOfAFormerOutage: a consumer outlives its callers, and the failure of one is none of the next.
func TestWaitIsNotToldOfAFormerOutage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		c := r.consumer(r.policy)
		defer r.done(c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.fails(core.ErrWaitOver)
		require.ErrorIs(t, c.unanswered(ctx), send.ErrUnreached)
		c.mu.Lock()
		c.failed = time.Now().Add(-time.Minute)
		c.mu.Unlock()
		require.NotErrorIs(t, c.unanswered(ctx), send.ErrUnreached)
		require.ErrorIs(t, c.unanswered(ctx), context.Canceled)
	})
}

// TestAwaitThatEndsInAnOutageNamesIt, whether the server refuses connections or is silent.
// A wait that shares the look of an earlier one is told, too.
func TestAwaitThatEndsInAnOutageNamesIt(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	r := rigOn(t, client).by(client, quickly)
	id := r.adds("a", WithDelay(time.Hour))
	awaits := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Scaled(d))
		defer cancel()
		_, err := r.Await(ctx, id)
		return err
	}
	require.NotErrorIs(t, awaits(300*time.Millisecond), send.ErrUnreached, "the server answers")
	proxy.Refuse()
	proxy.CutAll()
	for range 2 {
		err := awaits(time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, send.ErrUnreached)
		require.ErrorContains(t, err, proxy.Addr())
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, err := r.Stats(t.Context()); return err == nil }, soon, 10*time.Millisecond)
	long, cancel := context.WithCancel(t.Context())
	var listens sync.WaitGroup
	listens.Go(func() { _, _ = r.Await(long, id) }) // keeps the subscription
	l := r.h.ears.Get(r.of.key)
	defer r.h.ears.Put(r.of.key, l)
	redistest.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.sub != nil }, soon, time.Millisecond)
	proxy.BlackHole()
	ctx, stop := context.WithTimeout(t.Context(), r.e.SendTimeout()+redistest.Scaled(time.Second)) // the look has failed by then
	defer stop()
	_, err := r.Await(ctx, id)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, send.ErrUnreached)
	cancel()
	listens.Wait()
	proxy.Restore()
}

// TestAwaitSubscribesLater if the server has refused it at first: it is told, and does not only look every few seconds.
func TestAwaitSubscribesLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	permits := func(channels string) {
		set := admin.B().Arbitrary("ACL", "SETUSER", "orders", "on", ">password", "+@all", "~*", "resetchannels").Args(channels).Build()
		require.NoError(t, admin.Do(t.Context(), set).Error())
	}
	permits("&nothing")
	r := rigOn(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" }))
	id := r.adds("a")
	done := make(chan error, 1)
	go func() {
		text, err := r.Await(t.Context(), id)
		if err == nil && string(text) != "done" {
			err = errors.New(string(text))
		}
		done <- err
	}()
	l := r.h.ears.Get(r.of.key)
	defer r.h.ears.Put(r.of.key, l)
	redistest.Eventually(t, func() bool {
		log, err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
		return err == nil && len(log) > 0
	}, soon, time.Millisecond)
	permits("allchannels")
	r.look()
	redistest.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.sub != nil }, soon, time.Millisecond)
	require.NoError(t, r.gets("a").AckWith(t.Context(), []byte("done"), time.Minute))
	require.NoError(t, <-done)
}
