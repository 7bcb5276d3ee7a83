package topic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableDeliveryThatIsDroppedBeforeItsOutcomeIsCounted, once, whether this process has noticed or not: it is
// neither handled nor put aside, and does not come again.
func TestDurableDeliveryThatIsDroppedBeforeItsOutcomeIsCounted(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) { // that in the process keeps what was dropped pending
		r := settling(t, raw, redistest.Name(t))
		s := r.durable("billing")
		hows := []func(m *Delivery[string]){
			func(m *Delivery[string]) { require.ErrorIs(t, m.Nack(t.Context(), nil), ErrLost) },
			func(m *Delivery[string]) { require.ErrorIs(t, m.Bury(t.Context(), nil), ErrLost) },
			func(*Delivery[string]) {}, // the loop leaves it
		}
		for i := range 2 * len(hows) {
			how, noticed := hows[i/2], i%2 == 1
			r.publishes(1, "a")
			missed := int64(0)
			for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
				var lagged *LaggedError
				if errors.As(err, &lagged) {
					missed = lagged.Missed
					break
				}
				require.NoError(t, err, "case %d", i)
				require.EqualValues(t, 1, m.Attempt)
				redistest.Do(t, raw, "XTRIM", r.of.key, "MAXLEN", "0")
				if noticed {
					s.f.hold()
				}
				how(m)
			}
			require.EqualValues(t, 1, missed, "case %d", i)
		}
		require.Empty(t, r.pending(raw))
		require.Empty(t, dead(t, r.Durable("billing")))
		require.Zero(t, r.inHand())
		n, err := raw.Do(t.Context(), raw.B().Exists().Key(r.of.missed).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, n, "it is told again")
	})
}

// TestDurableDroppedIsFoundThoughTheReplyIsLost: the first question, or the one that has it forgotten, is asked again.
func TestDurableDroppedIsFoundThoughTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for nth := range 3 {
		client, proxy := through(t, server)
		watch := settling(t, raw, redistest.Name(t))
		r := reliableBy(t, raw, engineOn(t, client), watch.of.key, WithMaxLength(1000))
		s := r.durable("billing")
		watch.publishes(1, "a")
		missed := int64(0)
		for m, err := range s.Deliveries(within(t)) {
			var lagged *LaggedError
			if errors.As(err, &lagged) {
				missed = lagged.Missed
				break
			}
			require.NoError(t, err)
			redistest.Do(t, raw, "XTRIM", r.of.key, "MAXLEN", "0")
			match := redistest.All(redistest.MatchScript(holdScript.Body()), redistest.Arg(r.of.key))
			if nth > 0 { // 0: nobody has asked when the loop says how it ended
				lost := proxy.DropReply(redistest.All(match, redistest.Arg([]string{"", m.ID, "!" + m.ID}[nth])), 1)
				s.f.hold()
				lost.Await(t)
				require.True(t, m.it.forgotten)
				require.Empty(t, watch.pending(raw))
			}
			require.ErrorIs(t, m.Nack(t.Context(), nil), ErrLost)
		}
		require.EqualValues(t, 1, missed, "case %d", nth)
		s.Close()
		redistest.Eventually(t, func() bool { return !r.r.isRead(s.f) }, soon, time.Millisecond)
		n, err := raw.Do(t.Context(), raw.B().Exists().Key(r.of.missed).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, n, "case %d: it is counted twice", nth)
	}
}

// TestDurableDroppedIsCountedThoughNobodyKnowsWhetherItIsForgotten: the question that has it forgotten was not answered.
func TestDurableDroppedIsCountedThoughNobodyKnowsWhetherItIsForgotten(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for _, how := range []string{"asked again", "left"} {
		client, proxy := through(t, server)
		watch := settling(t, raw, redistest.Name(t))
		r := reliableBy(t, raw, engineOn(t, client), watch.of.key, WithMaxLength(1000))
		s := r.durable("billing")
		watch.publishes(1, "a")
		missed := int64(0)
		for m, err := range s.Deliveries(within(t)) {
			var lagged *LaggedError
			if errors.As(err, &lagged) {
				missed = lagged.Missed
				break
			}
			require.NoError(t, err)
			redistest.Do(t, raw, "XTRIM", r.of.key, "MAXLEN", "0")
			lost := proxy.DropReply(redistest.All(redistest.MatchScript(holdScript.Body()), redistest.Arg("!"+m.ID)), 1_000_000)
			s.f.hold()
			require.Positive(t, lost.Dropped())
			lost.Cancel()
			require.False(t, m.it.forgotten)
			require.Empty(t, watch.pending(raw), "it has run")
			if how == "left" {
				break
			}
			s.f.hold()
			require.ErrorIs(t, m.Nack(t.Context(), nil), ErrLost)
		}
		if s.Close(); how == "left" {
			two := watch.durable("billing")
			h := two.next(t, 1)[0]
			var lagged *LaggedError
			require.ErrorAs(t, h.err, &lagged)
			missed = lagged.Missed
		}
		require.EqualValues(t, 1, missed, how)
	}
}

// TestDurableDeletedByXDELIsCounted though it is between others.
func TestDurableDeletedByXDELIsCounted(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		s := r.durable("billing")
		r.publishes(1, "a", "b")
		missed, first := int64(0), true
		for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
			var lagged *LaggedError
			if errors.As(err, &lagged) {
				missed = lagged.Missed
				break
			}
			require.NoError(t, err)
			if first {
				first = false
				require.NoError(t, m.Nack(t.Context(), nil)) // it stays pending
				continue
			}
			if m.Value == "a" {
				require.NoError(t, m.Nack(t.Context(), nil))
				continue
			}
			redistest.Do(t, raw, "XDEL", r.of.key, m.ID)
			s.f.hold()
			require.ErrorIs(t, m.Nack(t.Context(), nil), ErrLost)
		}
		require.EqualValues(t, 1, missed)
	})
}

// TestASharedConnectionThatDiedHidesNoLongMessage: what is read by a connection of its own was late all the same.
func TestASharedConnectionThatDiedHidesNoLongMessage(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := settling(t, raw, redistest.Name(t)).durable("billing")
	l, err := s.f.h.connect(s.f.h.e.Node(s.f.of.key))
	require.NoError(t, err)
	defer l.Close()
	l.dead.Store(true)
	for _, late := range []int{1, 0} {
		f := &feed{h: s.f.h, of: s.f.of, amount: amount{late: late}}
		_ = f.refused(l, time.Now(), context.DeadlineExceeded)
		require.Equal(t, 2*late, f.amount.late)
	}
}
