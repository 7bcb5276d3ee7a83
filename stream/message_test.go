package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// quick is a short backoff.
func quick(int64) time.Duration { return 5 * time.Millisecond }

// dropDead deletes what a group has put aside when the test ends.
func dropDead(t testing.TB, raw rueidis.Client, s *Stream[string, string]) {
	t.Cleanup(func() {
		raw.Do(context.Background(), raw.B().Del().Key(keys.StreamDead(s.q.Key, "g")).Build())
	})
}

// TestGroupMessageThatFailsIsPutAside behind its last attempt, and holds up no other. It
// comes again when it is redriven.
func TestGroupMessageThatFailsIsPutAside(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		bad := add(t, s, "bad")
		for _, v := range []string{"a", "b", "left"} {
			add(t, s, v)
		}
		attempts := map[string][]int64{}
		for m, err := range g.Messages(within(t), "c", WithIdle(time.Minute), WithBackoff(quick), WithMaxAttempts(3)) {
			require.NoError(t, err)
			v := m.Fields["v"]
			attempts[v] = append(attempts[v], m.Attempt)
			switch {
			case v == "bad":
				require.NoError(t, m.Nack(t.Context(), errors.New("no such customer")))
			case v == "left" && m.Attempt == 1: // without an outcome
			default:
				require.NoError(t, m.Ack(t.Context()))
			}
			if len(attempts["bad"]) == 3 && len(attempts["left"]) == 2 {
				break
			}
		}
		require.Equal(t, map[string][]int64{"bad": {1, 2, 3}, "a": {1}, "b": {1}, "left": {1, 2}}, attempts)
		require.Empty(t, all(t, g.Pending(t.Context())))
		dead := all(t, g.Dead(t.Context()))
		require.Len(t, dead, 1)
		require.Equal(t, bad, dead[0].ID)
		require.Equal(t, map[string]string{"v": "bad"}, dead[0].Fields)
		require.EqualValues(t, 3, dead[0].Attempts)
		require.Equal(t, "no such customer", dead[0].Cause)
		require.WithinDuration(t, time.Now(), dead[0].Buried, soon)

		n, err := g.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Empty(t, all(t, g.Dead(t.Context())))
		for m, err := range g.Messages(within(t), "other") {
			require.NoError(t, err)
			require.Equal(t, bad, m.ID)
			require.EqualValues(t, 1, m.Attempt)
			require.NoError(t, m.Bury(t.Context(), nil))
			break
		}
		gone, err := s.Remove(t.Context(), bad)
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		n, err = g.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "the stream has it no more")
		require.Len(t, all(t, g.Dead(t.Context())), 1)
		purged, err := g.PurgeDead(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, purged)
		require.Empty(t, all(t, g.Dead(t.Context())))
	})
}

// TestGroupMessageThatDoesNotDecode is an error with its ID, and can be put aside.
func TestGroupMessageThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "no number")
		add(t, s, "7")
		g := New[string, int](engineOn(t, raw), s.Name(), WithCodec(codec.JSON)).Group("g")
		n := 0
		for m, err := range g.Messages(within(t), "c") {
			if n++; n == 1 {
				require.ErrorIs(t, err, ErrDecode)
				require.ErrorIs(t, err, core.ErrNotice)
				require.Equal(t, id, m.ID)
				require.NoError(t, m.Bury(t.Context(), err))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, map[string]int{"v": 7}, m.Fields)
			require.NoError(t, m.Ack(t.Context()))
			break
		}
		for d, err := range g.Dead(t.Context()) {
			require.ErrorIs(t, err, ErrDecode)
			require.Equal(t, id, d.ID)
			require.NotEmpty(t, d.Cause)
		}
		require.Equal(t, []string{"no number"}, vs([]Entry[string, string]{all(t, s.Group("g").Dead(t.Context()))[0].Entry}))
	})
}

// TestGroupMessageThatAnotherHas is not touched by the one that had it.
func TestGroupMessageThatAnotherHas(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "a")
		for m, err := range g.Messages(within(t), "slow") {
			require.NoError(t, err)
			got, err := g.Claim(t.Context(), "quick", 0, id)
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, vs(got))
			require.ErrorIs(t, m.Nack(t.Context(), nil), ErrLost)
			require.ErrorIs(t, m.Bury(t.Context(), nil), ErrLost)
			require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
			pending := all(t, g.Pending(t.Context()))
			require.Equal(t, "quick", pending[0].Consumer)
			_, err = g.Ack(t.Context(), id)
			require.NoError(t, err)
			require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
			break
		}
		require.Empty(t, all(t, g.Dead(t.Context())))
		for _, opt := range []ConsumeOption{WithMaxAttempts(0), WithBackoff(nil)} {
			for _, err := range g.Messages(t.Context(), "c", opt) {
				require.ErrorIs(t, err, ErrInvalidArgument)
			}
		}
	})
}

// TestGroupEntriesThatAreGivenBackReachThoseWhoWait at once, in another process.
func TestGroupEntriesThatAreGivenBackReachThoseWhoWait(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		made(t, s)
		other := New[string, string](engineOn(t, raw), s.Name(), WithCodec(codec.Text)).Group("g")
		long := WithIdle(20 * time.Minute) // in half of which they would be found
		got := make(chan string, 10)
		ctx, cancel := context.WithCancel(within(t))
		var waits sync.WaitGroup
		defer waits.Wait()
		defer cancel()
		waits.Go(func() {
			for e, err := range other.Consume(ctx, "two", long) {
				if ctx.Err() != nil {
					return
				}
				if !assert.NoError(t, err) {
					return
				}
				got <- e.Fields["v"]
				_, err = other.Ack(t.Context(), e.ID)
				assert.NoError(t, err)
			}
		})
		add(t, s, "first")
		require.Equal(t, "first", redistest.Done(t, got))
		redistest.Eventually(t, func() bool { return other.s.h.poller.Waiting(other.s.h.tips.Kind, s.q.Key) }, soon, time.Millisecond)
		// By one command: they are given to the consumer before the other is told of them.
		var ids []string
		for range 5 {
			got, err := raw.Do(t.Context(), raw.B().Eval().Script(`redis.call('xadd', KEYS[1], '*', 'v', 'back')
return redis.call('xreadgroup', 'GROUP', 'g', 'one', 'STREAMS', KEYS[1], '>')[1][2][1][1]`).Numkeys(1).Key(s.q.Key).Build()).ToString()
			require.NoError(t, err)
			ids = append(ids, got)
		}
		c := &consumption{h: s.q.h, post: post{s.q.Key, "g"}, consumer: "one", cfg: consumeConfig{idle: 20 * time.Minute}, read: time.Now(), came: time.Now()}
		for _, id := range ids {
			c.batch = append(c.batch, rueidis.XRangeSlice{ID: id})
		}
		c.came = time.Now().Add(time.Hour) // all of them were delivered before
		c.giveBack()
		for range ids {
			require.Equal(t, "back", redistest.Done(t, got))
		}
	})
}

// TestGroupConsumersOfSlowHandlersShareEvenly: nobody hoards what others could begin with.
func TestGroupConsumersOfSlowHandlersShareEvenly(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		const consumers = 4
		for i := range 16 {
			add(t, s, decimal(int64(i)))
		}
		var first, all sync.WaitGroup // all have their first one before any goes on
		first.Add(consumers)
		ctx := within(t)
		for i := range consumers {
			all.Go(func() {
				began := false
				defer func() {
					if !began {
						first.Done()
					}
				}()
				for e, err := range g.Consume(ctx, decimal(int64(i))) {
					if !assert.NoError(t, err, "consumer %d has none", i) {
						return
					}
					_, err = g.Ack(t.Context(), e.ID)
					assert.NoError(t, err)
					began = true
					first.Done()
					first.Wait()
					return
				}
			})
		}
		all.Wait()
	})
}

// TestGroupConsumersAreListedAndRemoved, but not with what they have.
func TestGroupConsumersAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		id := add(t, s, "a")
		for _, err := range g.Consume(within(t), "dead") {
			require.NoError(t, err)
			break
		}
		consumers, err := g.Consumers(t.Context())
		require.NoError(t, err)
		require.Len(t, consumers, 1)
		require.Equal(t, "dead", consumers[0].Name)
		require.EqualValues(t, 1, consumers[0].Pending)
		_, err = g.RemoveConsumer(t.Context(), "dead")
		require.ErrorIs(t, err, ErrPending)
		require.Len(t, all(t, g.Pending(t.Context())), 1)
		claimed, err := g.AutoClaim(t.Context(), "alive", 0, 10)
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		require.Equal(t, id, claimed[0].ID)
		there, err := g.RemoveConsumer(t.Context(), "dead")
		require.NoError(t, err)
		require.True(t, there)
		there, err = g.RemoveConsumer(t.Context(), "dead")
		require.NoError(t, err)
		require.False(t, there)
		_, err = s.Group("none").RemoveConsumer(t.Context(), "a")
		require.ErrorIs(t, err, ErrNoGroup)
		_, err = s.Group("none").Consumers(t.Context())
		require.ErrorIs(t, err, ErrNoGroup)
		_, err = g.Claim(t.Context(), "", 0, id)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = g.AutoClaim(t.Context(), "a", 0, 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

// TestStreamIsReadFromATimeOnWithoutAGroup, and beside consumers who wait.
func TestStreamIsReadFromATimeOnWithoutAGroup(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		for i, id := range []string{"1000-0", "2000-0", "3000-1"} {
			_, err := s.Add(t.Context(), map[string]string{"v": decimal(int64(i))}, WithID(id))
			require.NoError(t, err)
		}
		got := make(chan string, 10)
		ctx, cancel := context.WithCancel(within(t))
		var waits sync.WaitGroup
		defer waits.Wait()
		defer cancel()
		read := func(from string) {
			waits.Go(func() {
				for e, err := range s.ReadFrom(ctx, from) {
					if err != nil {
						assert.ErrorIs(t, err, context.Canceled)
						return
					}
					got <- from + " " + e.Fields["v"]
				}
			})
		}
		read(IDAt(time.UnixMilli(1500)))
		require.Equal(t, "1500-0 1", redistest.Done(t, got))
		require.Equal(t, "1500-0 2", redistest.Done(t, got))
		read("5000") // which nothing is yet
		redistest.Eventually(t, func() bool { return s.q.h.poller.InLine(s.q.h.tips.Kind, s.q.Key) == 2 }, soon, time.Millisecond)
		_, err := s.Add(t.Context(), map[string]string{"v": "3"}, WithID("4000-0"))
		require.NoError(t, err)
		require.Equal(t, "1500-0 3", redistest.Done(t, got))
		_, err = s.Add(t.Context(), map[string]string{"v": "4"}, WithID("5000-0"))
		require.NoError(t, err)
		both := []string{redistest.Done(t, got), redistest.Done(t, got)}
		slices.Sort(both)
		require.Equal(t, []string{"1500-0 4", "5000 4"}, both)
		for _, err := range s.ReadFrom(t.Context(), "x") {
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	})
}

// TestAReaderOfANewStreamIsNotHeldUpByOneAtTheOldEnd: the stream is deleted and begun again with lower IDs, while a reader
// of the client waits at its old end.
func TestAReaderOfANewStreamIsNotHeldUpByOneAtTheOldEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw, shortSends)
		put := func(id string) {
			_, err := s.Add(t.Context(), map[string]string{"v": id}, WithID(id))
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(within(t))
		var reads sync.WaitGroup
		defer reads.Wait()
		defer cancel()
		got := make(chan string, 10)
		read := func(from string) {
			reads.Go(func() {
				for e, err := range s.ReadFrom(ctx, from) {
					if err != nil {
						assert.ErrorIs(t, err, context.Canceled)
						return
					}
					got <- from + " " + e.ID
				}
			})
		}
		put("9000-0")
		read("9000-0")
		require.Equal(t, "9000-0 9000-0", redistest.Done(t, got))
		inLine := func(n int) {
			redistest.Eventually(t, func() bool { return s.q.h.poller.InLine(s.q.h.tips.Kind, s.q.Key) == n }, soon, time.Millisecond)
		}
		inLine(1)
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(s.q.Key).Build()).Error())
		put("1000-0")
		read("")
		require.Equal(t, " 1000-0", redistest.Done(t, got))
		inLine(2)
		put("2000-0")
		require.Equal(t, " 2000-0", redistest.Done(t, got))
		put("9500-0")
		both := []string{redistest.Done(t, got), redistest.Done(t, got)}
		slices.Sort(both)
		require.Equal(t, []string{" 9500-0", "9000-0 9500-0"}, both)
	})
}

// TestGroupGoesOnWhereItIsSet.
func TestGroupGoesOnWhereItIsSet(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := texted(t, raw)
	g := made(t, s)
	add(t, s, "a")
	b := add(t, s, "b")
	require.NoError(t, g.SetID(t.Context(), FromNow))
	c := add(t, s, "c")
	for e, err := range g.Consume(within(t), "x") {
		require.NoError(t, err)
		require.Equal(t, c, e.ID)
		break
	}
	require.NoError(t, g.SetID(t.Context(), b))
	require.ErrorIs(t, g.SetID(t.Context(), "x"), ErrInvalidArgument)
	require.ErrorIs(t, s.Group("none").SetID(t.Context(), b), ErrNoGroup)
}

// TestGroupMessageComesAgainWhenItsBackoffIsOver, however long entries are left to their consumers. One that fails again
// and again at once holds up no other.
func TestGroupMessageComesAgainWhenItsBackoffIsOver(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		add(t, s, "bad")
		attempt := int64(0)
		long := WithIdle(20 * time.Minute)
		for m, err := range g.Messages(within(t), "c", long, WithBackoff(func(n int64) time.Duration { return 50 * time.Millisecond })) {
			require.NoError(t, err)
			if attempt = m.Attempt; attempt == 3 {
				require.NoError(t, m.Ack(t.Context()))
				break
			}
			require.NoError(t, m.Nack(t.Context(), nil))
		}
		add(t, s, "poison")
		good := 0
		for m, err := range g.Messages(within(t), "c", long, WithBatch(1), WithBackoff(func(int64) time.Duration { return 0 })) {
			require.NoError(t, err)
			if m.Fields["v"] == "good" {
				require.NoError(t, m.Ack(t.Context()))
				if good++; good == 3 {
					break
				}
			} else {
				require.NoError(t, m.Nack(t.Context(), nil))
			}
			if m.Fields["v"] == "good" || m.Attempt == 1 {
				add(t, s, "good")
			}
		}
	})
}

// TestGroupMessageComesAgainToALoopBehindOneThatWaits, of the same process and group.
func TestGroupMessageComesAgainToALoopBehindOneThatWaits(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		add(t, s, "bad")
		ctx, cancel := context.WithCancel(within(t))
		var waits sync.WaitGroup
		defer waits.Wait()
		defer cancel()
		long := WithIdle(20 * time.Minute)
		for m, err := range g.Messages(ctx, "c", long, WithBackoff(func(int64) time.Duration { return 50 * time.Millisecond })) {
			require.NoError(t, err)
			if m.Attempt == 2 {
				require.NoError(t, m.Ack(t.Context()))
				break
			}
			waits.Go(func() {
				for _, err := range g.Messages(ctx, "other", long) {
					assert.ErrorIs(t, err, context.Canceled)
				}
			})
			redistest.Eventually(t, func() bool { return g.s.h.poller.Waiting(g.s.h.tips.Kind, s.q.Key) }, soon, time.Millisecond)
			require.NoError(t, m.Nack(t.Context(), nil))
		}
	})
}

// TestGroupMessageWhoseLastAttemptHadNoOutcomeIsPutAside: it may have killed its consumer, and would kill the next.
func TestGroupMessageWhoseLastAttemptHadNoOutcomeIsPutAside(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		bad := add(t, s, "bad")
		redistest.Do(t, raw, "XREADGROUP", "GROUP", "g", "dead", "STREAMS", s.q.Key, ">")
		redistest.Do(t, raw, "XCLAIM", s.q.Key, "g", "dead", "0", bad, "IDLE", "3600000", "RETRYCOUNT", "2", "JUSTID")
		add(t, s, "good")
		for m, err := range g.Messages(within(t), "c", WithIdle(time.Minute), WithMaxAttempts(2)) {
			require.NoError(t, err)
			require.Equal(t, "good", m.Fields["v"])
			require.NoError(t, m.Ack(t.Context()))
			break
		}
		dead := all(t, g.Dead(t.Context()))
		require.Len(t, dead, 1)
		require.Equal(t, bad, dead[0].ID)
		require.Contains(t, dead[0].Cause, "without an outcome")
		require.Empty(t, all(t, g.Pending(t.Context())))
	})
}

// TestGroupMessageWhoseAttemptsAreNotKnownIsNotYielded, as if it had none.
func TestGroupMessageWhoseAttemptsAreNotKnownIsNotYielded(t *testing.T) {
	t.Parallel()
	raw := redistest.Start(t).Client(t)
	s := texted(t, raw)
	g := made(t, s)
	id := add(t, s, "a")
	redistest.Do(t, raw, "XREADGROUP", "GROUP", "g", "dead", "STREAMS", s.q.Key, ">")
	redistest.Do(t, raw, "XCLAIM", s.q.Key, "g", "dead", "0", id, "IDLE", "3600000", "JUSTID")
	c, err := g.consumption(t.Context(), "c", []ConsumeOption{WithIdle(time.Minute)})
	require.NoError(t, err)
	c.counts, c.size = map[string]int64{}, 1
	redistest.Do(t, raw, "ACL", "SETUSER", "default", "-xpending")
	got, err := c.claim()
	require.ErrorContains(t, err, "NOPERM")
	require.Empty(t, got)
	redistest.Do(t, raw, "ACL", "SETUSER", "default", "+xpending")
}

// TestGroupMessageIsPutAsideThoughTheReplyIsLost, and its caller is told so.
func TestGroupMessageIsPutAsideThoughTheReplyIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	s := texted(t, raw)
	made(t, s)
	dropDead(t, raw, s)
	g := New[string, string](engineOn(t, client, shortSends), s.Name(), WithCodec(codec.Text)).Group("g")
	for _, how := range []func(m *Message[string, string]) error{
		func(m *Message[string, string]) error { return m.Bury(t.Context(), nil) },
		func(m *Message[string, string]) error { return m.Nack(t.Context(), nil) }, // which was the last
	} {
		add(t, s, "a")
		for m, err := range g.Messages(within(t), "c", WithMaxAttempts(1)) {
			require.NoError(t, err)
			lost := proxy.DropReply(redistest.MatchScript(attempts.Nack.Body()), 1)
			err = how(m)
			lost.Await(t)
			require.NoError(t, err)
			break
		}
	}
	require.Len(t, all(t, g.Dead(t.Context())), 2, "each once")
}

// TestGroupRedriveReachesConsumersThatLeaveEntriesForDays to others.
func TestGroupRedriveReachesConsumersThatLeaveEntriesForDays(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "a")
		long := WithIdle(30 * 24 * time.Hour)
		for m, err := range g.Messages(within(t), "c", long) {
			require.NoError(t, err)
			require.NoError(t, m.Bury(t.Context(), nil))
			break
		}
		n, err := g.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		for m, err := range g.Messages(within(t), "c", long) {
			require.NoError(t, err)
			require.Equal(t, id, m.ID)
			require.EqualValues(t, 1, m.Attempt)
			require.NoError(t, m.Ack(t.Context()))
			break
		}
	})
}
