package topic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// quick is a short backoff.
func quick(int64) time.Duration { return 5 * time.Millisecond }

// settling is a durable topic whose keys beside the topic go when the test ends.
func settling(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *reliableRig {
	t.Helper()
	r := reliableBy(t, raw, engineOn(t, raw, change...), name, WithMaxLength(1000))
	t.Cleanup(func() {
		for _, key := range []string{keys.StreamDead(r.of.key, "billing"), r.of.again("billing"), r.of.missed} {
			raw.Do(context.Background(), raw.B().Del().Key(key).Build())
		}
	})
	return r
}

// dead is what the name has put aside.
func dead(t testing.TB, d *Durable[string]) (all []Dead[string]) {
	t.Helper()
	for it, err := range d.Dead(t.Context()) {
		require.NoError(t, err)
		all = append(all, it)
	}
	return all
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func init() {
	reliableSuite["what fails is put aside and redriven to its name only"] = putAside
	reliableSuite["an outcome is that of all loops of a process"] = outcomesOfLoops
}

// putAside: a message that fails holds up no other, and is put aside behind its last attempt. It comes again when it is
// redriven, to no other subscriber, under the ID that it had.
func putAside(t *testing.T, raw rueidis.Client, name string) {
	r := settling(t, raw, name)
	d := r.Durable("billing")
	other, s := r.listening(), r.durable("billing")
	r.publishes(2, "bad", "a", "left", "b")
	other.hears(t, "bad", "a", "left", "b")
	tried, id := map[string][]int64{}, ""
	for m, err := range s.Deliveries(within(t), WithBackoff(quick), WithMaxAttempts(3)) {
		require.NoError(t, err)
		tried[m.Value] = append(tried[m.Value], m.Attempt)
		switch {
		case m.Value == "bad":
			id = m.ID
			require.NoError(t, m.Nack(t.Context(), errors.New("no such customer")))
		case m.Value == "left" && m.Attempt == 1: // without an outcome
		default:
			require.NoError(t, m.Ack(t.Context()))
			require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
		}
		if len(tried["bad"]) == 3 && len(tried["left"]) == 2 && len(tried["b"]) == 1 {
			break
		}
	}
	require.Equal(t, map[string][]int64{"bad": {1, 2, 3}, "a": {1}, "b": {1}, "left": {1, 2}}, tried)
	all := dead(t, d)
	require.Len(t, all, 1)
	require.WithinDuration(t, time.Now(), all[0].Buried, soon)
	all[0].Buried = time.Time{}
	require.Equal(t, Dead[string]{ID: id, Value: "bad", Attempts: 3, Cause: "no such customer"}, all[0])
	r.awaitLen(0)

	for _, how := range []func(m *Delivery[string]) error{
		func(m *Delivery[string]) error { return m.Bury(t.Context(), nil) },
		func(m *Delivery[string]) error {
			if m.Attempt == 1 {
				return m.Nack(t.Context(), nil)
			}
			return m.Ack(t.Context())
		},
	} {
		n, err := d.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Empty(t, dead(t, d))
		lag, err := d.Lag(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, lag)
		attempt := int64(1)
		for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
			require.NoError(t, err)
			require.Equal(t, []any{"bad", id, attempt}, []any{m.Value, m.ID, m.Attempt})
			require.NoError(t, how(m))
			if lag, err = d.Lag(t.Context()); lag == 0 || err != nil {
				break
			}
			attempt++
		}
	}
	require.Empty(t, dead(t, d), "it was handled")
	exists, err := raw.Do(t.Context(), raw.B().Exists().Key(r.of.again("billing")).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, exists, "nothing is left of it")
	r.publishes(2, "last", "one")
	other.hears(t, "last", "one") // and nothing else before
	for m, err := range s.Deliveries(within(t), WithMaxAttempts(1)) {
		require.NoError(t, err)
		if m.Value == "one" {
			require.NoError(t, m.Ack(t.Context()))
			break
		} // else it was its last
	}
	require.Len(t, dead(t, d), 1)
	purged, err := d.PurgeDead(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, purged)
	require.Empty(t, dead(t, d))
}

// outcomesOfLoops: what one of them has failed at comes again to both, and what one puts aside goes.
func outcomesOfLoops(t *testing.T, raw rueidis.Client, name string) {
	r := settling(t, raw, name)
	one, two := r.durable("billing"), r.durable("billing")
	r.publishes(1, "a", "b")
	first := func(s reliably, how func(m *Delivery[string]) error) {
		t.Helper()
		for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
			require.NoError(t, err)
			require.NoError(t, how(m), m.Value)
			if m.Value == "b" {
				break
			}
		}
	}
	ack := func(m *Delivery[string]) error { return m.Ack(t.Context()) }
	first(one, func(m *Delivery[string]) error {
		if m.Value == "a" {
			return m.Nack(t.Context(), nil)
		}
		return m.Bury(t.Context(), errors.New("no such customer"))
	})
	first(two, ack)
	for _, s := range []reliably{one, two} {
		for m, err := range s.Deliveries(within(t)) {
			require.NoError(t, err)
			require.Equal(t, "a", m.Value)
			require.EqualValues(t, 2, m.Attempt)
			require.NoError(t, m.Ack(t.Context()))
			break
		}
	}
	r.awaitLen(0)
	all := dead(t, r.Durable("billing"))
	require.Len(t, all, 1)
	require.Equal(t, "no such customer", all[0].Cause)
}

// TestDurableDeliveryThatDoesNotDecode is an error with its ID, and can be put aside.
func TestDurableDeliveryThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d := NewReliable[int](r.e, r.of.key, WithMaxLength(1000), WithCodec(codec.JSON)).Durable("billing")
		s, err := d.Listen(t.Context())
		require.NoError(t, err)
		defer s.Close()
		r.publishes(1, "no number", "7")
		redistest.Do(t, raw, "XADD", r.of.key, "*", "x", "no message")
		n, ids := 0, []string{}
		for m, err := range s.Deliveries(within(t)) {
			if n++; n == 2 {
				require.NoError(t, err)
				require.Equal(t, 7, m.Value)
				require.NoError(t, m.Ack(t.Context()))
				continue
			}
			require.ErrorIs(t, err, ErrDecode)
			require.ErrorIs(t, err, core.ErrNotice)
			ids = append(ids, m.ID)
			require.NoError(t, m.Bury(t.Context(), err))
			if n == 3 {
				break
			}
		}
		for it, err := range d.Dead(t.Context()) {
			require.ErrorIs(t, err, ErrDecode)
			require.Equal(t, ids[0], it.ID)
			require.NotEmpty(t, it.Cause)
			ids = ids[1:]
		}
		require.Empty(t, ids)
	})
}

// TestDurableDeliveryWhoseLastAttemptHadNoOutcomeIsPutAside: it may have killed its process, and would kill the next.
func TestDurableDeliveryWhoseLastAttemptHadNoOutcomeIsPutAside(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t), notLingering)
		r.durable("billing").Close()
		r.unread()
		r.publishes(1, "bad")
		redistest.Do(t, raw, "XREADGROUP", "GROUP", "billing", consumer, "STREAMS", r.of.key, ">")
		id := r.pending(raw)[0].id
		redistest.Do(t, raw, "XCLAIM", r.of.key, "billing", consumer, "0", id, "IDLE", "3600000", "RETRYCOUNT", "2", "JUSTID")
		r.publishes(1, "good")
		for m, err := range r.Durable("billing").Deliveries(within(t), WithMaxAttempts(2)) {
			require.NoError(t, err)
			require.Equal(t, "good", m.Value)
			require.NoError(t, m.Ack(t.Context()))
			break
		}
		all := dead(t, r.Durable("billing"))
		require.Len(t, all, 1)
		require.Equal(t, id, all[0].ID)
		require.Contains(t, all[0].Cause, "without an outcome")
	})
}

// delivered is a pending message, and how often it was delivered.
type delivered struct {
	id    string
	count int64
}

func (r *reliableRig) pending(raw rueidis.Client) (all []delivered) {
	r.t.Helper()
	rows, err := raw.Do(r.t.Context(), raw.B().Xpending().Key(r.of.key).Group("billing").Start("-").End("+").Count(100).Build()).ToArray()
	require.NoError(r.t, err)
	for _, row := range rows {
		parts, err := row.ToArray()
		require.NoError(r.t, err)
		id, err := parts[0].ToString()
		require.NoError(r.t, err)
		n, err := parts[3].AsInt64()
		require.NoError(r.t, err)
		all = append(all, delivered{id, n})
	}
	return all
}

// TestDurableMessagesThatNoLoopWasGivenHaveHadNoAttempt, when their process gives them back.
func TestDurableMessagesThatNoLoopWasGivenHaveHadNoAttempt(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		s := r.durable("billing")
		r.publishes(1, "begun", "a", "b")
		redistest.Eventually(t, func() bool { return r.inHand() == 3 }, soon, time.Millisecond)
		for v, err := range s.Messages(t.Context()) { // which counts no attempts, but this was one
			require.NoError(t, err)
			require.Equal(t, "begun", v)
			break
		}
		s.Close()
		got := map[string]int64{}
		for m, err := range settling(t, raw, r.of.key).Durable("billing").Deliveries(within(t)) {
			require.NoError(t, err)
			got[m.Value] = m.Attempt
			require.NoError(t, m.Ack(t.Context()))
			if len(got) == 3 {
				break
			}
		}
		require.Equal(t, map[string]int64{"begun": 2, "a": 1, "b": 1}, got)
	})
}

// TestDurableDeliveryThatAnotherHas is not touched by the process that had it.
func TestDurableDeliveryThatAnotherHas(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		s := r.durable("billing")
		for i, how := range []func(m *Delivery[string]) error{
			func(m *Delivery[string]) error { return m.Nack(t.Context(), nil) },
			func(m *Delivery[string]) error { return m.Bury(t.Context(), nil) },
		} {
			r.publishes(1, "a")
			for m, err := range s.Deliveries(within(t)) {
				require.NoError(t, err)
				redistest.Do(t, raw, "XCLAIM", r.of.key, "billing", consumer, "0", m.ID) // by another process
				require.ErrorIs(t, how(m), ErrLost)
				break
			}
			require.Len(t, r.pending(raw), i+1)
		}
		require.Empty(t, dead(t, r.Durable("billing")))
	})
}

// TestDurableDeliveryIsSettledThoughTheReplyIsLost, once.
func TestDurableDeliveryIsSettledThoughTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for _, what := range []struct {
		name string
		of   redistest.Match
		how  func(m *Delivery[string]) error
		dead int
	}{
		{"ack", redistest.MatchScript(settleScript.Body()), func(m *Delivery[string]) error { return m.Ack(context.Background()) }, 0},
		{"nack", redistest.MatchScript(attempts.Nack.Body()), func(m *Delivery[string]) error { return m.Nack(context.Background(), nil) }, 1},
		{"bury", redistest.MatchScript(attempts.Nack.Body()), func(m *Delivery[string]) error { return m.Bury(context.Background(), nil) }, 1},
	} {
		t.Run(what.name, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			watch := settling(t, raw, redistest.Name(t))
			r := reliableBy(t, raw, engineOn(t, client, quickly), watch.of.key, WithMaxLength(1000))
			s := r.durable("billing")
			watch.publishes(1, "a")
			for m, err := range s.Deliveries(within(t), WithMaxAttempts(1)) {
				require.NoError(t, err)
				lost := proxy.DropReply(redistest.All(what.of, redistest.Arg(r.of.key)), 1)
				err = what.how(m)
				lost.Await(t)
				require.NoError(t, err)
				break
			}
			require.Empty(t, watch.pending(raw))
			require.Len(t, dead(t, watch.Durable("billing")), what.dead)
		})
	}
}

// TestDeliveriesRefuse what cannot be used.
func TestDeliveriesRefuse(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := settling(t, raw, redistest.Name(t))
	for _, opt := range []DeliveryOption{WithMaxAttempts(0), WithBackoff(nil), nil} {
		for _, err := range r.Durable("billing").Deliveries(t.Context(), opt) {
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	}
	for _, err := range r.listening().Deliveries(t.Context()) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, err := range r.Durable("").Dead(t.Context()) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err := r.Durable("").Redrive(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Durable("").PurgeDead(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestDurableDeliveryThatAFullServerRefusesToPutAsideComesAgain: it is not lost, and nobody is told that it was put aside.
func TestDurableDeliveryThatAFullServerRefusesToPutAsideComesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	watch := settling(t, raw, "orders")
	r := reliableBy(t, raw, engineOn(t, raw, quickly), "orders", WithMaxLength(1000)) // it comes again when its lease is over
	s := r.durable("billing")
	watch.publishes(1, "a")
	full := true
	for m, err := range s.Deliveries(within(t)) {
		require.NoError(t, err)
		require.Equal(t, "a", m.Value)
		if full {
			redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
			require.ErrorContains(t, m.Bury(t.Context(), nil), "OOM")
			redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "0")
			full = false
			continue
		}
		require.NoError(t, m.Bury(t.Context(), nil))
		break
	}
	require.Len(t, dead(t, watch.Durable("billing")), 1)
}

// TestDurableDeliveryThatIsDroppedWhileItWaitsIsCounted, such as by a Java process that cleans up.
func TestDurableDeliveryThatIsDroppedWhileItWaitsIsCounted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		s := r.durable("billing")
		r.publishes(1, "a")
		for m, err := range s.Deliveries(within(t)) {
			if m == nil {
				var lagged *LaggedError
				require.ErrorAs(t, err, &lagged)
				require.EqualValues(t, 1, lagged.Missed)
				break
			}
			require.NoError(t, err)
			if err = m.Nack(t.Context(), nil); m.Attempt > 1 { // it came again before it was dropped
				require.ErrorIs(t, err, ErrLost)
				continue
			}
			require.NoError(t, err)
			redistest.Do(t, raw, "XTRIM", r.of.key, "MAXLEN", "0")
		}
	})
}

// TestDurableRedrivenMessagesAreHeldAndGivenBack as others are: while a process has them nobody else does, and those that
// no loop was given have had no attempt.
func TestDurableRedrivenMessagesAreHeldAndGivenBack(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) { // XCLAIM with JUSTID counts as a delivery on that in the process
		r := settling(t, raw, redistest.Name(t))
		s, again := r.durable("billing"), r.of.again("billing")
		r.publishes(1, "a", "b")
		n := 0
		for m, err := range s.Deliveries(within(t)) {
			require.NoError(t, err)
			require.NoError(t, m.Bury(t.Context(), nil))
			if n++; n == 2 {
				break
			}
		}
		_, err := r.Durable("billing").Redrive(t.Context())
		require.NoError(t, err)
		redistest.Eventually(t, func() bool { return r.inHand() == 2 }, soon, time.Millisecond)
		left := func(idle string) int {
			rows, err := raw.Do(t.Context(), raw.B().Arbitrary("XPENDING", again, "billing", "IDLE", idle, "-", "+", "10").Build()).ToArray()
			require.NoError(t, err)
			return len(rows)
		}
		require.Zero(t, left("3600000"))
		s.f.claimsNoMore(t)
		for _, it := range s.f.streamed(again) {
			redistest.Do(t, raw, "XCLAIM", again, "billing", consumer, "0", it, "IDLE", "3600000", "JUSTID")
		}
		require.Equal(t, 2, left("3600000"))
		s.f.hold()
		require.Zero(t, left("3600000"))
		s.Close()
		redistest.Eventually(t, func() bool { return left("3600000") == 2 }, soon, time.Millisecond)
		got := map[string]int64{}
		for m, err := range settling(t, raw, r.of.key).Durable("billing").Deliveries(within(t)) {
			require.NoError(t, err)
			got[m.Value] = m.Attempt
			require.NoError(t, m.Ack(t.Context()))
			if len(got) == 2 {
				break
			}
		}
		require.Equal(t, map[string]int64{"a": 1, "b": 1}, got)
	})
}

// claimsNoMore has a feed not look for what is pending by itself, and waits until its reader knows.
func (f *feed) claimsNoMore(t testing.TB) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		f.turn.Lock() // behind its last claim
		defer f.turn.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.claimed = time.Now().Add(time.Hour)
		return !f.claim
	}, soon, time.Millisecond)
}

// streamed is the ids of what is in flight of a stream.
func (f *feed) streamed(stream string) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range f.flight {
		if at := f.at(it.id); (it.again() != "") == (stream == f.streams()[1]) {
			ids = append(ids, at)
		}
	}
	return ids
}
