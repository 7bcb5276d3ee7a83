package reliable

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// loses adds n messages whose only attempt fails.
func (r *rig) loses(n int) {
	r.t.Helper()
	for range n {
		r.adds("dead", WithAttempts(1))
		require.NoError(r.t, r.gets("dead").Nack(r.t.Context(), nil))
	}
}

// TestTermsDeadLimitOfAnotherConsumerTrimsNothing, and it takes nothing either.
func TestTermsDeadLimitOfAnotherConsumerTrimsNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithDeadLimit(1000, time.Hour))
		r.loses(30)
		r.adds("last", WithAttempts(1))
		m, err := r.other(WithDeadLimit(10, time.Minute)).Poll(t.Context())
		if err == nil {
			require.NoError(t, m.Nack(t.Context(), nil))
		}
		s, bad := r.Stats(t.Context())
		require.NoError(t, bad)
		require.EqualValues(t, 30, s.Dead)
		require.ErrorIs(t, err, ErrOtherTerms)
		require.ErrorContains(t, err, "dead limit: 1000, and not 10; age of the dead: 1h0m0s, and not 1m0s")
		r.acks("last")
	})
}

// TestTermsAttemptsOfAnotherConsumerBuryNothing of what the queue has tried again.
func TestTermsAttemptsOfAnotherConsumerBuryNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(3))
		r.adds("a")
		require.NoError(t, r.gets("a").Nack(t.Context(), nil, WithDelay(0)))
		other := r.other(WithMaxAttempts(2))
		m, err := other.Poll(t.Context())
		if err == nil {
			require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
		}
		require.Zero(t, r.counter("dead"))
		require.ErrorIs(t, err, ErrOtherTerms)
		_, err = other.Receive(t.Context())
		require.ErrorIs(t, err, ErrOtherTerms)
		err = other.Serve(t.Context(), func(context.Context, *Message[string]) error { return nil })
		require.ErrorIs(t, err, ErrOtherTerms)
		err = r.other().Serve(t.Context(), func(context.Context, *Message[string]) error { return nil },
			WithBackoff(childBackoff), WithMaxAttempts(4))
		require.ErrorIs(t, err, ErrOtherTerms)
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{MaxAttempts: 3}, terms, "what was refused has stored nothing")
		r.acks("a")
	})
}

// TestTermsThatAreNotGivenAreThoseOfTheQueue, for every client.
func TestTermsThatAreNotGivenAreThoseOfTheQueue(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Zero(t, terms)
		first := r.with(WithMaxAttempts(2), WithBackoff(func(n int) time.Duration { return time.Duration(n) * time.Hour }))
		first.isEmpty()
		second := r.other(WithDeadLimit(5, time.Hour), WithLease(time.Minute))
		second.isEmpty()
		terms, err = r.Terms(t.Context())
		require.NoError(t, err)
		require.Len(t, terms.Backoff, mostWaits)
		require.Equal(t, 3*time.Hour, terms.Backoff[2])
		terms.Backoff = nil
		require.Equal(t, Terms{MaxAttempts: 2, DeadLimit: 5, DeadAge: time.Hour}, terms, "the lease of a consumer is its own")
		third := r.other()
		id := third.adds("a")
		began := time.Now()
		require.NoError(t, third.gets("a").Nack(t.Context(), nil))
		info, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.WithinDuration(t, began.Add(time.Hour), info.When, time.Minute)
		for range 8 {
			third.adds("b")
			require.NoError(t, third.gets("b").Nack(t.Context(), nil, WithDelay(0)))
			m := third.gets("b")
			require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
			buried, err := m.Buried(t.Context())
			require.NoError(t, err)
			require.True(t, buried)
		}
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 5, s.Dead)
	})
}

// TestSetTermsChangesThemForConsumersThatAreThere, also for those that were given others.
func TestSetTermsChangesThemForConsumersThatAreThere(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		old, other := r.with(WithMaxAttempts(5), WithBackoff(childBackoff)), r.other()
		old.adds("a")
		old.acks("a")
		other.isEmpty()
		deploy := r.other(WithMaxAttempts(1), WithLease(time.Hour))
		_, err := deploy.Poll(t.Context())
		require.ErrorIs(t, err, ErrOtherTerms)
		require.NoError(t, deploy.SetTerms(t.Context()))
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{MaxAttempts: 1, Lease: time.Hour, Backoff: []time.Duration{500 * time.Millisecond}}, terms)
		require.Equal(t, "attempts 1, lease 1h0m0s, backoff [500ms]", terms.String())
		for _, is := range []*rig{old, other, deploy} {
			id := is.adds("b")
			m := is.gets("b")
			info, err := r.Find(t.Context(), id)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(time.Hour), info.When, 10*time.Minute, "it has the lease of the queue")
			require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
			buried, err := m.Buried(t.Context())
			require.NoError(t, err)
			require.True(t, buried)
		}
		require.ErrorContains(t, errOf(r.other(WithMaxAttempts(5)).Poll(t.Context())), "attempts: 1, and not 5")
	})
}

// TestResetTermsTakesThemBack but for those that its handle has, also for consumers that are there.
func TestResetTermsTakesThemBack(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.ResetTerms(t.Context()), "of a queue that has none")
		first := r.with(WithMaxAttempts(1), WithDeadLimit(5, time.Hour), WithKeepDone(time.Hour), WithMaxInFlight(1))
		first.adds("a")
		first.acks("a")
		require.NoError(t, r.with(WithLease(time.Hour)).ResetTerms(t.Context()))
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{Lease: time.Hour}, terms)
		other := r.other(WithMaxAttempts(3), WithKeepDone(time.Minute))
		other.adds("b")
		m := other.gets("b")
		terms, err = r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{MaxAttempts: 3, KeepDone: time.Minute, Lease: time.Hour}, terms, "those that it lacked")
		require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
		buried, err := m.Buried(t.Context())
		require.NoError(t, err)
		require.False(t, buried)
		require.NoError(t, r.ResetTerms(t.Context()))
		first.acks("b")
		require.Zero(t, r.counter("dead"))
	})
}

func errOf[T any](_ T, err error) error { return err }

// TestTermsOfADeletedQueueAreGivenAnew by the consumers that go on.
func TestTermsOfADeletedQueueAreGivenAnew(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		of := r.with(WithMaxAttempts(1))
		of.isEmpty()
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
		of.isEmpty()
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{MaxAttempts: 1}, terms)
	})
}

// TestTermsOfAMessageAreItsOwn: its attempts and its backoff.
func TestTermsOfAMessageAreItsOwn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(1))
		waits := func(n int) time.Duration { return time.Duration(n) * time.Hour }
		id := r.adds("a", WithAttempts(3), WithBackoff(waits), WithPriority(2), WithGroup("g"), WithUnique("1:2|3"))
		m := r.gets("a")
		began := time.Now()
		require.NoError(t, m.Nack(t.Context(), errors.New("no")))
		info, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, Delayed, info.State)
		require.WithinDuration(t, began.Add(time.Hour), info.When, time.Minute)
		require.Equal(t, 3, info.MaxAttempts)
		require.Equal(t, 2, info.Priority)
		require.Equal(t, "g", info.Group)
		require.Equal(t, "1:2|3", info.Unique)
		r.do("ZADD", r.part("due"), "1", decimal(id))
		m = r.gets("a")
		require.NoError(t, m.Nack(t.Context(), nil))
		info, err = r.Find(t.Context(), id)
		require.NoError(t, err)
		require.WithinDuration(t, began.Add(2*time.Hour), info.When, time.Minute)
		r.do("ZADD", r.part("due"), "1", decimal(id))
		m = r.gets("a")
		r.do("ZADD", r.part("lease"), "1", m.d.member)
		r.isEmpty()
		info, err = r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, Dead, info.State, "its third lease ran out")
		require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
		only := r.adds("only a backoff", WithBackoff(waits))
		m = r.gets("only a backoff")
		require.NoError(t, m.Nack(t.Context(), nil))
		info, err = r.Find(t.Context(), only)
		require.NoError(t, err)
		require.Equal(t, Dead, info.State, "the attempts are those of the queue")
	})
}

// TestBackoffThatIsAnotherEachTimeIsRefused: no two consumers would have the same terms.
func TestBackoffThatIsAnotherEachTimeIsRefused(t *testing.T) {
	t.Parallel()
	r := rigOn(t, miniredisClient(t))
	random := WithBackoff(func(int) time.Duration { return time.Second + rand.N(time.Hour) })
	_, err := r.with(random).Poll(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Add(t.Context(), "a", random)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestDefaultBackoffDoubles up to ten minutes, a tenth more or less.
func TestDefaultBackoffDoubles(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(1000))
		id := r.adds("a")
		for n := 1; n <= 13; n++ {
			began := time.Now()
			require.NoError(t, r.gets("a").Nack(t.Context(), nil))
			ended := time.Now()
			info, err := r.Find(t.Context(), id)
			require.NoError(t, err)
			plain := min(time.Second<<(n-1), 10*time.Minute)
			require.GreaterOrEqual(t, info.When.Sub(began), plain*9/10-2*time.Millisecond, n)
			require.LessOrEqual(t, info.When.Sub(ended), plain*11/10+2*time.Millisecond, n)
			r.do("ZADD", r.part("due"), "1", decimal(id))
		}
	})
}

// TestTermsOfConsumersThatComeTogetherAreOne: of those that differ one rules, and the others are refused.
func TestTermsOfConsumersThatComeTogetherAreOne(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		const n = 6
		errs := make(chan error, n)
		for i := range n {
			other := r.other(WithMaxAttempts(i + 2))
			go func() { _, err := other.Poll(t.Context()); errs <- err }()
		}
		refused := 0
		for range n {
			if err := <-errs; errors.Is(err, ErrOtherTerms) {
				refused++
			} else {
				require.ErrorIs(t, err, ErrEmpty)
			}
		}
		require.Equal(t, n-1, refused)
	})
}

// TestTermsAreRefusedThoughTheReplyIsLost: the answer to a repeated request says nothing of them.
func TestTermsAreRefusedThoughTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t)).with(WithMaxAttempts(3))
	r.isEmpty()
	r.adds("a")
	client, proxy := redistest.ThroughProxy(t, server)
	other := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
	other.Queue = New[string](other.e, r.name, WithMaxAttempts(4))
	proxy.DropReply(redistest.MatchScript(stepScript.Body()), 1)
	_, err := other.Poll(t.Context())
	require.ErrorIs(t, err, ErrOtherTerms)
	r.acks("a")
}

// TestTermsCostNoCallWhereTheyAreKnown: a handle of a request each takes as one that stays does.
func TestTermsCostNoCallWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t)).with(WithMaxAttempts(3))
	r.isEmpty()
	other := r.other()
	other.isEmpty()
	server.ResetStats()
	const n = 20
	for range n {
		other.isEmpty()
		r.with(WithMaxAttempts(3)).isEmpty()
	}
	require.LessOrEqual(t, server.ScriptCalls(t), int64(2*n+n/4), "a call each, but for what was still under way")
}
