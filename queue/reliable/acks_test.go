package reliable

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// steps has a step acknowledge first attempts, and take messages for so many milliseconds that are to wait for a handler;
// two attempts are all that a message has. It returns which acks the server knew, and what lease has of what was taken.
func (r *rig) steps(want, lease string, acks ...string) (settled, took string) {
	r.t.Helper()
	args := append(r.e.Preamble(r.e.Request(r.of.lane, 0), r.of.wake),
		"1", "me", want, lease, "2", "0 0", "5000", "-", "100", "1000000", r.of.done, "0", strconv.Itoa(len(acks)))
	args = append(append(args, acks...), "0", "0")
	got, err := r.e.Run(r.t.Context(), stepScript, r.of.on(r.of.lane+":test"), args)
	require.NoError(r.t, err)
	all, err := got.ToArray()
	require.NoError(r.t, err)
	settled, err = all[1].ToString()
	require.NoError(r.t, err)
	took, err = all[2].ToString()
	require.NoError(r.t, err)
	return settled, took
}

// acksTogether has a step acknowledge first attempts, and returns which of them it knew.
func (r *rig) acksTogether(ids ...string) string {
	r.t.Helper()
	settled, _ := r.steps("0", "1000", ids...)
	return settled
}

// texts is an answer of several, such as the members of a list.
func (r *rig) texts(command ...string) []string {
	r.t.Helper()
	m := r.do(command...)
	all, err := m.AsStrSlice()
	require.NoError(r.t, err, command)
	return all
}

// TestOfAcksTogetherThoseCountThatAreLeased: they are taken out of the leases at once, and
// told apart by what else is known of them.
func TestOfAcksTogetherThoseCountThatAreLeased(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ends := decimal(time.Now().UnixMilli() + engine.Millis(time.Hour))
		for _, id := range []string{"11", "12", "13", "14"} {
			r.do("HSET", r.part("body"), id, "body")
		}
		r.do("ZADD", r.part("lease"), ends, "11", ends, "13", ends, "16", ends, "17")
		r.do("HSET", r.part("tries"), "12", "1") // its lease ran out
		r.do("ZADD", r.part("dead"), ends, "14")
		require.Equal(t, "00", r.acksTogether("12", "14"), "none of them")
		require.Equal(t, "101000", r.acksTogether("11", "12", "13", "13", "14", "15"), "and 15 was removed")
		require.EqualValues(t, 2, r.counter("acked"))
		r.do("HSET", r.part("body"), "16", "body", "17", "body")
		require.Equal(t, "11", r.acksTogether("16", "17"), "all of them")
		require.EqualValues(t, 4, r.counter("acked"))
		for id, there := range map[string]int64{"11": 0, "12": 1, "13": 0, "14": 1, "16": 0, "17": 0} {
			n, err := asInt(r.do("HEXISTS", r.part("body"), id))
			require.NoError(t, err)
			require.Equal(t, there, n, id)
		}
	})
}

// TestAnAckTakesOutNoMessageThatNobodyHas, such as one that has the id of one that a failover has forgotten, or one of
// which the failover has forgotten that it was taken.
func TestAnAckTakesOutNoMessageThatNobodyHas(t *testing.T) {
	t.Parallel()
	ends := decimal(time.Now().UnixMilli() + engine.Millis(time.Hour))
	for place, put := range map[string]func(r *rig){
		"ready": func(r *rig) { r.do("RPUSH", r.part("ready"), "18") },
		"far":   func(r *rig) { r.do(append(append([]string{"RPUSH", r.part("ready")}, spread(1500)...), "18")...) },
		"prio":  func(r *rig) { r.do("ZADD", r.part("prio"), "1", "18"); r.do("HSET", r.part("opt"), "18", "7|0|0|") },
		"due":   func(r *rig) { r.do("ZADD", r.part("due"), ends, "18") },
		"order": func(r *rig) {
			r.do("HSET", r.part("opt"), "18", "0|0|0|g")
			r.do("HSET", r.part("head"), "g", "17")
			r.do("ZADD", r.part("order"), "0", "g\x000000000000000018")
		},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, r *rig) {
				r.do("HSET", r.part("body"), "11", "body", "18", "body", "19", "body")
				r.do("ZADD", r.part("lease"), ends, "11", ends, "19")
				put(r)
				require.Equal(t, "101", r.acksTogether("11", "18", "19"))
				require.EqualValues(t, 2, r.counter("acked"))
				require.Equal(t, []string{"18"}, r.texts("HKEYS", r.part("body")))
			})
		})
	}
}

// spread is ids that no message has.
func spread(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(1000 + i)
	}
	return all
}

// TestAcksOfWhichNobodyKnowsWhichCount count for nothing, and all come again: the place of 18 was evicted.
func TestAcksOfWhichNobodyKnowsWhichCount(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.do("HSET", r.part("body"), "11", "body", "18", "body")
		r.do("ZADD", r.part("lease"), decimal(time.Now().UnixMilli()+engine.Millis(time.Hour)), "11")
		require.Equal(t, "00", r.acksTogether("11", "18"))
		require.Zero(t, r.counter("acked"))
		_, took := r.steps("5", "1000")
		require.ElementsMatch(t, []string{"11:2", "18:2"}, strings.Fields(took))
	})
}

// TestWhatWasReleasedIsBegunAnew: of a lease that runs out then, before a handler has begun, nobody says one had.
func TestWhatWasReleasedIsBegunAnew(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.failsOnce(1)
		m := r.gets("0")
		require.Equal(t, 2, m.Attempt)
		require.NoError(t, m.Release(t.Context()))
		id := decimal(m.ID)
		_, took := r.steps("1", "1")
		require.Equal(t, id+":2", took)
		time.Sleep(5 * time.Millisecond)
		_, took = r.steps("1", "1000")
		require.Equal(t, id+":3", took)
		require.Zero(t, r.counter("dead"))
	})
}

// TestABuriedMessageFreesItsGroupAndItsKey, whether a handler has failed or its lease ran out.
func TestABuriedMessageFreesItsGroupAndItsKey(t *testing.T) {
	t.Parallel()
	for why, ends := range map[string]func(r *rig, m *Message[string]){
		"failed":  func(r *rig, m *Message[string]) { require.NoError(r.t, m.Nack(r.t.Context(), nil)) },
		"ran out": func(r *rig, m *Message[string]) { r.do("ZADD", r.part("lease"), "1", decimal(m.ID)) },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, r *rig) {
				r = r.with(WithMaxAttempts(1))
				r.adds("a", WithGroup("g"), WithUnique("u"))
				r.adds("b", WithGroup("g"))
				m := r.gets("a")
				r.isEmpty()
				ends(r, m)
				r.acks("b")
				require.Error(t, m.Ack(t.Context()))
				require.EqualValues(t, 1, r.counter("dead"))
				r.adds("c", WithGroup("g"), WithUnique("u"))
				r.acks("c")
				_, err := r.Purge(t.Context())
				require.NoError(t, err)
				r.leaves()
			})
		})
	}
}
