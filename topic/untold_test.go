package topic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// untold has a durable name of that rig miss messages, of which no loop was told yet.
func (r *reliableRig) untold(published, kept int) reliably {
	r.t.Helper()
	r.t.Cleanup(func() { r.raw.Do(context.Background(), r.raw.B().Del().Key(r.of.missed).Build()) })
	r.durable("billing").Close()
	redistest.Eventually(r.t, func() bool { return r.r.listeners(feedKey{r.of.key, "billing"}) == 0 }, soon, time.Millisecond)
	by := reliableOn(r.t, r.raw, r.of.key, WithMaxLength(int64(kept))) // one that is not in a hurry
	by.publishes(1, numbers(0, published)...)
	s := r.durable("billing")
	redistest.Eventually(r.t, func() bool {
		s.ear.mu.Lock()
		defer s.ear.mu.Unlock()
		return s.ear.missed == int64(published-kept)
	}, soon, time.Millisecond)
	return s
}

// missed is how many messages a loop was told that it has missed, before so many messages.
func (s reliably) missed(t testing.TB, messages int) (n int64) {
	t.Helper()
	for _, h := range s.next(t, 1+messages) {
		var lagged *LaggedError
		if errors.As(h.err, &lagged) {
			n += lagged.Missed
			continue
		}
		require.NoError(t, h.err)
	}
	return n
}

// TestDurableMissedMessagesAreCountedWhenTheServerTakesIt, where it refuses as the subscription ends.
func TestDurableMissedMessagesAreCountedWhenTheServerTakesIt(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const published, kept = 100, 20
			server := redistest.Start(t, redistest.Version(version))
			raw := server.Client(t)
			r := reliableBy(t, raw, engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = time.Second }), redistest.Name(t), WithMaxLength(kept))
			s := r.untold(published, kept)
			redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
			s.Close()
			redistest.Eventually(t, r.e.CleaningUp, soon, time.Millisecond, "it is not gone on with")
			redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "0")
			other := reliableBy(t, raw, engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = time.Second }), r.of.key, WithMaxLength(kept))
			redistest.Eventually(t, func() bool { return !r.e.CleaningUp() }, soon, time.Millisecond)
			require.EqualValues(t, published-kept, other.durable("billing").missed(t, kept))
		})
	}
}

// TestCloseTellsOfMissedMessagesThatTheServerDidNotCount, since a client that has closed does not go on.
func TestCloseTellsOfMissedMessagesThatTheServerDidNotCount(t *testing.T) {
	t.Parallel()
	const published, kept = 100, 20
	server := redistest.Start(t)
	raw := server.Client(t)
	e, err := locking.New(t.Context(), raw, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Second, Linger: time.Second})
	require.NoError(t, err)
	r := reliableBy(t, raw, e, redistest.Name(t), WithMaxLength(kept))
	r.untold(published, kept)
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
	err = locking.Close(t.Context(), e)
	require.ErrorContains(t, err, "OOM")
	require.ErrorContains(t, err, "count missed messages 80")
}

// TestDurableMissedMessagesAreToldThoughTheirReplyIsLost, once.
func TestDurableMissedMessagesAreToldThoughTheirReplyIsLost(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const published, kept = 100, 20
			server := redistest.Shared(t, redistest.Version(version))
			raw, name := server.Client(t), redistest.Name(t)
			r := reliableOn(t, raw, name, WithMaxLength(kept))
			r.untold(published, kept).Close()
			redistest.Eventually(t, func() bool {
				n, err := raw.Do(t.Context(), raw.B().Hget().Key(r.of.missed).Field("billing").Build()).AsInt64()
				return err == nil && n == published-kept
			}, soon, time.Millisecond)
			client, proxy := through(t, server)
			lost := proxy.DropReply(redistest.All(redistest.MatchScript(missedScript.Body()), redistest.Arg(r.of.key)), 1_000_000)
			e := engineOn(t, client)
			other := reliableBy(t, client, e, name, WithMaxLength(kept))
			s := other.durable("billing")
			assert.EqualValues(t, published-kept, s.missed(t, kept))
			lost.Cancel()
			redistest.Eventually(t, func() bool { return !e.CleaningUp() }, soon, time.Millisecond)
			n, err := raw.Do(t.Context(), raw.B().Exists().Key(r.of.missed).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, n, "it is told again")
		})
	}
}

// TestDurableMissedMessagesOfANameThatIsGoneAreNotCounted, so that nothing is left of it.
func TestDurableMissedMessagesOfANameThatIsGoneAreNotCounted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const published, kept = 30, 20
		r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(kept))
		s := r.untold(published, kept)
		s.Close()
		redistest.Eventually(t, func() bool {
			return raw.Do(t.Context(), raw.B().Hget().Key(r.of.missed).Field("billing").Build()).Error() == nil
		}, soon, time.Millisecond)
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.f.forgo(published-kept))
		require.Zero(t, r.exists())
		n, err := raw.Do(t.Context(), raw.B().Exists().Key(r.of.missed).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestDeliveryThatCannotBePutAsideIsTold, and not kept from the loop for ever.
func TestDeliveryThatCannotBePutAsideIsTold(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		r := reliableBy(t, raw, engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = time.Second }, notLingering), redistest.Name(t), WithMaxLength(100))
		dead := keys.StreamDead(r.of.key, "billing")
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(dead).Build()) })
		r.durable("billing").Close()
		r.unread()
		reliableOn(t, raw, r.of.key, WithMaxLength(100)).publishes(1, "bad")
		redistest.Do(t, raw, "XREADGROUP", "GROUP", "billing", consumer, "STREAMS", r.of.key, ">") // its last attempt
		redistest.Do(t, raw, "SET", dead, "of another type")
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		for m, err := range r.Durable("billing").Deliveries(ctx, WithMaxAttempts(1)) {
			if ofConnection(err) {
				continue
			}
			require.ErrorIs(t, err, core.ErrNotice)
			require.ErrorContains(t, err, "WRONGTYPE")
			require.NotEmpty(t, m.ID)
			require.Equal(t, "bad", m.Value)
			break
		}
	})
}

// TestDurableMissedMessagesOfOneTopicWaitForNoOther, whose server may not answer.
func TestDurableMissedMessagesOfOneTopicWaitForNoOther(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	silent := reliableBy(t, raw, e, redistest.Name(t)+":silent", WithMaxLength(20))
	other := reliableBy(t, raw, e, redistest.Name(t)+":other", WithMaxLength(20)).durable("billing")
	defer silent.r.turn(silent.of.key)()
	counted := make(chan error, 1)
	go func() { counted <- other.f.forgo(1) }()
	select {
	case err := <-counted:
		require.NoError(t, err)
	case <-time.After(soon):
		t.Fatal("it waits for the answer about another topic")
	}
}

// TestDurableMissedMessagesThatComeWhileTheClientClosesAreCounted again: a visit that is under way has taken them from the server.
func TestDurableMissedMessagesThatComeWhileTheClientClosesAreCounted(t *testing.T) {
	t.Parallel()
	const published, kept = 100, 20
	server := redistest.Shared(t)
	raw := server.Client(t)
	r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(kept))
	r.untold(published, kept).Close()
	counted := func() bool {
		n, err := raw.Do(t.Context(), raw.B().Hget().Key(r.of.missed).Field("billing").Build()).AsInt64()
		return err == nil && n == published-kept
	}
	redistest.Eventually(t, counted, soon, time.Millisecond)
	client, proxy := through(t, server)
	e, err := locking.New(t.Context(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute, Linger: time.Second})
	require.NoError(t, err)
	held := proxy.HoldRequest(redistest.All(redistest.MatchScript(missedScript.Body()), redistest.Arg(r.of.key)))
	s := reliableBy(t, client, e, r.of.key, WithMaxLength(kept)).durable("billing")
	held.Await(t)
	s.Close()
	closed := make(chan error, 1)
	go func() { closed <- locking.Close(context.Background(), e) }() // ends behind Release
	redistest.Eventually(t, func() bool { return !e.Spawn(func() {}) }, soon, time.Millisecond)
	held.Release()
	require.NoError(t, <-closed)
	redistest.Eventually(t, counted, soon, time.Millisecond)
}
