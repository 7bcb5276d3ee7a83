package topic

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func leased(d time.Duration) func(*core.Config) {
	return func(c *core.Config) { c.WatchdogTimeout = d }
}

// atWork is a loop of a durable name that has a message until goOn is closed. Then it has handled it, or leaves it.
func atWork(t *testing.T, r, by *reliableRig, handles bool) (s reliably, goOn, ended chan struct{}) {
	t.Helper()
	s = r.durable("billing")
	taken := make(chan struct{})
	goOn, ended = make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		for v, err := range s.Messages(ctx) {
			if ofConnection(err) {
				continue
			}
			if v == "0" {
				close(taken)
				<-goOn
				stop()
				if !handles {
					return
				}
			}
			assert.True(t, err == nil || errors.Is(err, context.Canceled))
		}
	}()
	by.publishes(1, "0")
	<-taken
	return s, goOn, ended
}

// comesTwice reports whether another process is given what a loop has, within so long.
func comesTwice(t *testing.T, other *reliableRig, within time.Duration) bool {
	t.Helper()
	two := other.durable("billing")
	defer two.Close()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for _, err := range two.Messages(ctx) {
		if !ofConnection(err) {
			return err == nil
		}
	}
	return false
}

// TestDurableHoldsMessagesOfAShortLease though nothing else is to be done for a feed as often.
func TestDurableHoldsMessagesOfAShortLease(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond // a server may stand still for two thirds of it; a feed is visited once a second else
	redistest.Within(t, lease, func() (took time.Duration) {
		raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
		a := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
		b := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
		_, goOn, ended := atWork(t, a, b, false)
		if comesTwice(t, b, 4*time.Second) { // a feed that is not held often enough comes twice in nearly all rounds
			took = 2 * lease
		}
		close(goOn)
		<-ended
		return took
	})
}

// TestDurableHoldsWhatALoopHasAfterClose, as the loop is still at work on it, and leaves when it is done.
func TestDurableHoldsWhatALoopHasAfterClose(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	redistest.Within(t, lease, func() (took time.Duration) {
		raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
		a := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
		b := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
		one, goOn, ended := atWork(t, a, b, false)
		one.Close()
		if comesTwice(t, b, 3*lease) {
			took = 2 * lease
		}
		close(goOn)
		<-ended
		redistest.Eventually(t, func() bool { return a.r.listeners(feedKey{name, "billing"}) == 0 && !a.r.isRead(one.f) }, soon, time.Millisecond)
		require.True(t, comesTwice(t, b, soon), "it was left by the loop, and comes again")
		return took
	})
}

// TestDurableGivesBackWhatALoopLeavesAfterClose at once, though another loop hangs.
func TestDurableGivesBackWhatALoopLeavesAfterClose(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
	a := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
	one := a.durable("billing")
	at, leaves, goesOn := make(chan string), make(chan struct{}), make(chan struct{})
	var loops sync.WaitGroup
	for range 2 {
		loops.Go(func() {
			for v, err := range one.Messages(t.Context()) {
				assert.NoError(t, err)
				at <- v
				if v == "left" {
					<-leaves
					return
				}
				<-goesOn
			}
		})
	}
	reliableOn(t, raw, name, WithMaxLength(1000)).publishes(1, "left", "kept")
	require.ElementsMatch(t, []string{"left", "kept"}, []string{redistest.Done(t, at), redistest.Done(t, at)})
	one.Close()
	close(leaves)
	b := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
	two := b.durable("billing")
	two.hears(t, "left")
	close(goesOn)
	loops.Wait()
	b.awaitLen(0)
}

// TestDurableGivesBackWhatALoopTakesAsItIsClosed: the loop does not begin with it, and another process has it at once.
func TestDurableGivesBackWhatALoopTakesAsItIsClosed(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
	a := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
	one := a.durable("billing")
	reliableOn(t, raw, name, WithMaxLength(1000)).publishes(1, "x")
	var got sound
	redistest.Eventually(t, func() (some bool) {
		got, some = one.ear.take()
		return some
	}, soon, time.Millisecond)
	require.NotNil(t, got.it)
	one.Close()
	redistest.Eventually(t, func() bool { return !a.r.isRead(one.f) }, soon, time.Millisecond)
	require.False(t, one.f.begin(got.it))
	b := reliableBy(t, raw, engineOn(t, raw, leased(lease)), name, WithMaxLength(1000))
	b.durable("billing").hears(t, "x")
	b.awaitLen(0)
}

// nackedLate returns what the server says of a Nack. While that is unknown it is asked again, which a second Nack would not do.
func nackedLate(t *testing.T, s reliably, m *Delivery[string]) error {
	t.Helper()
	err := m.Nack(t.Context(), errors.New("late"))
	redistest.Eventually(t, func() bool {
		if errors.Is(err, ErrOutcomeUnknown) {
			err = s.f.nack(t.Context(), m.it)
		}
		return !errors.Is(err, ErrOutcomeUnknown)
	}, soon, time.Millisecond)
	return err
}

// TestDurableMissesNothingThatAnotherProcessHasHandled while this one was cut off.
func TestDurableMissesNothingThatAnotherProcessHasHandled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"nack", "left"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			raw := server.Client(t)
			slow, proxy := through(t, server)
			name := redistest.Name(t)
			a := reliableBy(t, slow, engineOn(t, slow, leased(time.Second)), name, WithMaxLength(1000))
			b := reliableBy(t, raw, engineOn(t, raw, leased(time.Second)), name, WithMaxLength(1000))
			one := a.durable("billing")
			by := reliableOn(t, raw, name, WithMaxLength(1000)) // one that is not in a hurry
			by.publishes(1, "x")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for m, err := range one.Deliveries(ctx) {
				if ctx.Err() != nil {
					break
				}
				if ofConnection(err) {
					continue
				}
				require.NoError(t, err)
				proxy.BlackHole() // as if it stood still
				var hold sync.WaitGroup
				hold.Go(one.f.hold) // it is sent again, and finds the message acknowledged
				two := b.durable("billing")
				two.hears(t, "x")
				by.awaitLen(0)
				two.Close()
				proxy.Restore()
				back := time.Now()
				redistest.Eventually(t, func() bool {
					one.f.mu.Lock()
					defer one.f.mu.Unlock()
					return one.f.held.After(back)
				}, soon, 5*time.Millisecond)
				hold.Wait()
				require.False(t, m.it.dropped)
				if how == "nack" {
					require.ErrorIs(t, nackedLate(t, one, m), ErrLost)
					time.AfterFunc(500*time.Millisecond, stop) // no LaggedError comes
					continue
				}
				break
			}
			one.Close()
			redistest.Eventually(t, func() bool { return !a.r.isRead(one.f) }, soon, time.Millisecond)
			n, err := raw.Do(t.Context(), raw.B().Exists().Key(a.of.missed).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, n, "it counts as missed")
		})
	}
}

// TestDurableDropForgetsWhatWasHandled, also where the server has not been told yet.
func TestDurableDropForgetsWhatWasHandled(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for range 50 {
		r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(100))
		s := r.durable("billing")
		r.publishes(1, "x")
		ctx, end := context.WithCancel(t.Context())
		for range s.Messages(ctx) {
			end()
		}
		end()
		s.Close()
		_, err := r.Durable("billing").Drop(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.exists())
	}
}

// TestDurableHearsAgainAfterItsLoopHung, whether the new subscription comes after the old one or before that ends.
func TestDurableHearsAgainAfterItsLoopHung(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"close", "listen"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
			r := reliableBy(t, raw, engineOn(t, raw, leased(time.Second)), name, WithMaxLength(1000))
			by := reliableOn(t, raw, name, WithMaxLength(1000))
			one, goOn, ended := atWork(t, r, by, true)
			by.publishes(1, numbers(1, 10)...)
			redistest.Eventually(t, func() bool {
				one.f.mu.Lock()
				defer one.f.mu.Unlock()
				return one.f.hung
			}, soon, 5*time.Millisecond, "it hangs")
			var again reliably
			if first == "listen" {
				again = r.durable("billing")
			}
			close(goOn)
			<-ended
			one.Close()
			if first == "close" {
				again = r.durable("billing")
			}
			by.publishes(1, "new")
			for seen := false; !seen; {
				h := again.next(t, 1)[0]
				require.NoError(t, h.err)
				seen = h.text == "new"
			}
		})
	}
}

// TestTopicsOfWhichNothingTellsAreReadAThousandTimesASecond at most, by a client.
func TestTopicsOfWhichNothingTellsAreReadAThousandTimesASecond(t *testing.T) {
	t.Parallel()
	r := reliableOn(t, redistest.Shared(t).Client(t), redistest.Name(t))
	s := r.listening()
	s.f.isQuiet(t)
	s.f.turn.Lock()
	defer s.f.turn.Unlock()
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	now := time.Now()
	s.f.bare = now.Add(time.Minute)
	require.LessOrEqual(t, s.f.looksIn(now, 1), lookGrid)
	require.GreaterOrEqual(t, s.f.looksIn(now, 4000), 3*time.Second-lookGrid) // but for a quarter
}
