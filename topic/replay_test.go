package topic

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableIsReplayedFromAMessageOrATime on servers that have XGROUP SETID, as that in the process has not.
func TestDurableIsReplayedFromAMessageOrATime(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) { replayed(t, raw, redistest.Name(t)) })
}

// replayed: what the topic still has comes again, to that name only; what was not had is passed over.
func replayed(t *testing.T, raw rueidis.Client, name string) {
	r := settling(t, raw, name)
	d := r.Durable("billing")
	slow, s := r.durable("slow"), r.durable("billing") // for the slow one all is kept
	r.publishes(2, "a", "b", "c")
	var ids []string
	for m, err := range s.Deliveries(within(t)) {
		require.NoError(t, err)
		require.NoError(t, m.Ack(t.Context()))
		if ids = append(ids, m.ID); len(ids) == 3 {
			break
		}
	}
	redistest.Eventually(t, func() bool { return r.inHand() == 3 }, soon, time.Millisecond)
	complete, err := d.ReplayFrom(t.Context(), ids[1])
	require.NoError(t, err)
	require.True(t, complete)
	s.hears(t, "b", "c")
	redistest.Eventually(t, func() bool { return r.inHand() == 3 }, soon, time.Millisecond, "they are acknowledged, but by the slow one")
	_, err = d.ReplayFrom(t.Context(), "0")
	require.NoError(t, err)
	s.hears(t, "a", "b", "c")
	ahead := r.Durable("ahead") // that passes over what there is
	_, err = ahead.ReplayFrom(t.Context(), IDAt(time.Now().Add(time.Hour)))
	require.NoError(t, err)
	lag, err := ahead.Lag(t.Context())
	require.NoError(t, err)
	require.Zero(t, lag)
	there, err := ahead.Drop(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	r.publishes(2, "d", "e")
	s.hears(t, "d", "e")
	late := r.Durable("late") // that nobody has listened under
	_, err = late.ReplayFrom(t.Context(), ids[2])
	require.NoError(t, err)
	r.durable("late").hears(t, "c", "d", "e")
	slow.hears(t, "a", "b", "c", "d", "e")
	r.awaitLen(0)
	for _, id := range []string{"", "x", "1-", "1-x", "-1"} {
		_, err = d.ReplayFrom(t.Context(), id)
		require.ErrorIs(t, err, ErrInvalidArgument, id)
	}
}

// TestReplayTellsWhetherSomeMayBeGone.
func TestReplayTellsWhetherSomeMayBeGone(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d := r.Durable("billing")
		from := func(want bool, id string) {
			t.Helper()
			complete, err := d.ReplayFrom(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, complete, id)
		}
		from(true, "0")
		r.publishes(1, "a", "b")
		from(true, "0")
		s := r.durable("billing")
		s.hears(t, "a", "b")
		r.awaitLen(0)
		from(false, "0")
		r.publishes(1, "c", "d")
		from(false, "0")
	})
}

// TestReplayIsDoneOnceThoughTheReplyIsLost.
func TestReplayIsDoneOnceThoughTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	watch := settling(t, server.Client(t), redistest.Name(t))
	d := reliableBy(t, server.Client(t), engineOn(t, client, quickly), watch.of.key, WithMaxLength(1000)).Durable("billing")
	watch.publishes(0, "a")
	lost := proxy.DropReply(redistest.All(redistest.MatchScript(replayScript.Body()), redistest.Arg(watch.of.key)), 1)
	complete, err := d.ReplayFrom(t.Context(), "0")
	require.NoError(t, err)
	require.True(t, complete)
	lost.Await(t)
	watch.durable("billing").hears(t, "a")
}

func TestTheIDBeforeAnother(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"5-3": "5-2", "5-0": "4-18446744073709551615", "5": "4-18446744073709551615", "0": "0-0", "0-0": "0-0", "0-1": "0-0",
	} {
		got, err := previous(id)
		require.NoError(t, err)
		require.Equal(t, want, got, id)
	}
	require.Equal(t, "1500-0", IDAt(time.UnixMilli(1500)))
	require.Equal(t, "0-0", IDAt(time.UnixMilli(-1)))
}
