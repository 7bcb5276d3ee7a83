package reliable

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// oneRetry are terms of two attempts, without a wait between them.
var oneRetry = Terms{MaxAttempts: 2, Backoff: []time.Duration{0}}.text()

// steps has a step acknowledge messages, by their members of the leases, and take messages for so many milliseconds that are
// to wait for a handler; two attempts are all that a message has. It returns which acks the server knew, and what lease has
// of what was taken, without the delivery.
func (r *rig) steps(want, lease string, acks ...string) (settled, took string) {
	r.t.Helper()
	args := append(r.e.Preamble(r.e.Request(r.of.lane, 0), r.of.wake),
		"1", "me", want, lease, oneRetry, oneRetry, "5000", "-", "0", r.of.done, "0", r.h.identity, "-", strconv.Itoa(len(acks)))
	args = append(args, acks...)
	for _, of := range acks {
		id, _, _ := strings.Cut(of, ":")
		args = append(args, id)
	}
	got, err := r.e.Run(r.t.Context(), stepScript, r.of.on(r.of.lane+":test"), append(args, "0", "0"))
	require.NoError(r.t, err)
	all, err := got.ToArray()
	require.NoError(r.t, err)
	settled, err = all[1].ToString()
	require.NoError(r.t, err)
	took, err = all[3].ToString()
	require.NoError(r.t, err)
	return settled, took
}

// acksTogether has a step acknowledge deliveries, and returns which of them it knew.
func (r *rig) acksTogether(members ...string) string {
	r.t.Helper()
	settled, _ := r.steps("0", "1000", members...)
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

// TestAcksTogetherCountForTheDeliveriesThatAreLeased: they are taken out of the leases at once. What was taken by another
// delivery, or by nobody, stays as it is.
func TestAcksTogetherCountForTheDeliveriesThatAreLeased(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ends := decimal(time.Now().UnixMilli() + core.Millis(time.Hour))
		for _, id := range []string{"11", "12", "13", "14", "18", "19"} {
			r.do("HSET", r.part("body"), id, "body")
		}
		r.do("ZADD", r.part("lease"), ends, "11:1:500:1", ends, "13:1:500:1", ends, "19:1:501:2", ends, "16:2:500:1")
		r.do("HSET", r.part("owners"), "1", "a", "a", "1", "1+", "3", "2", "b", "b", "2", "2+", "1")
		r.do("HSET", r.part("tries"), "12", "1") // its lease ran out
		r.do("ZADD", r.part("dead"), ends, "14")
		r.do("RPUSH", r.part("ready"), "18") // its take was forgotten
		require.Equal(t, "00", r.acksTogether("12:1:500:1", "14:1:500:1"), "none of them")
		require.Equal(t, "1010000", r.acksTogether("11:1:500:1", "12:1:500:1", "13:1:500:1", "18:1:500:1", "14:1:500:1",
			"15:1:500:1", "19:1:500:1"), "15 was removed, and 19 is another delivery by now")
		require.EqualValues(t, 2, r.counter("acked"))
		require.ElementsMatch(t, []string{"12", "14", "18", "19"}, r.texts("HKEYS", r.part("body")))
		require.Equal(t, []string{"1", "1"}, r.texts("HMGET", r.part("owners"), "1+", "2+"))
		r.do("HSET", r.part("body"), "16", "body")
		require.Equal(t, "1", r.acksTogether("16:2:500:1"), "all of them")
		require.EqualValues(t, 3, r.counter("acked"))
		require.ElementsMatch(t, []string{"2", "b", "2+"}, r.texts("HKEYS", r.part("owners")), "the first client has none any more")
		require.Equal(t, []string{"18"}, r.texts("LRANGE", r.part("ready"), "0", "-1"))
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
		require.Equal(t, []string{"1"}, r.texts("HMGET", r.part("tries"), id+"+"), "the attempt that ran out does not count")
		require.Zero(t, r.counter("dead"))
	})
}

// TestABuriedMessageFreesItsGroupAndItsKey, whether a handler has failed or its lease ran out.
func TestABuriedMessageFreesItsGroupAndItsKey(t *testing.T) {
	t.Parallel()
	for why, ends := range map[string]func(r *rig, m *Message[string]){
		"failed":  func(r *rig, m *Message[string]) { require.NoError(r.t, m.Nack(r.t.Context(), nil)) },
		"ran out": func(r *rig, m *Message[string]) { r.do("ZADD", r.part("lease"), "1", m.d.member) },
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
