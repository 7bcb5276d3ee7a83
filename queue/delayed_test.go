package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// delayedOn is a delayed queue of texts, which the test's end deletes.
func delayedOn(t testing.TB, e *locking.Engine) *Delayed[string] {
	t.Helper()
	q := NewDelayed[string](e, redistest.Name(t), WithCodec(codec.Text), WithRedissonFormat())
	t.Cleanup(func() {
		for _, key := range q.q.Keys {
			e.Redis.Do(context.Background(), e.Redis.B().Del().Key(key).Build())
		}
	})
	return q
}

// also is the same queue by another client.
func also(t testing.TB, q *Delayed[string], raw rueidis.Client) *Delayed[string] {
	t.Helper()
	return NewDelayed[string](engineOn(t, raw), q.Name(), WithCodec(codec.Text), WithRedissonFormat())
}

// postponedTo offers an element that waits.
func postponedTo(t testing.TB, q *Delayed[string], v string, d time.Duration) {
	t.Helper()
	n, err := q.Offer(t.Context(), v, d)
	require.NoError(t, err)
	require.Positive(t, n)
}

// foreign puts a member where Java would, due in d, and says so if told.
func foreign(t testing.TB, raw rueidis.Client, q *Delayed[string], packed string, d time.Duration, told bool) {
	t.Helper()
	due := time.Now().Add(d).UnixMilli()
	of := q.q.of
	require.NoError(t, raw.Do(t.Context(), raw.B().Rpush().Key(of.list).Element(packed).Build()).Error())
	require.NoError(t, raw.Do(t.Context(), raw.B().Zadd().Key(of.times).ScoreMember().ScoreMember(float64(due), packed).Build()).Error()) // who moves sees both
	if told {
		require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel(of.channel).Message(decimal(due)).Build()).Error())
	}
}

// requireNothingWaits looks at both keys.
func requireNothingWaits(t testing.TB, raw rueidis.Client, q *Delayed[string]) {
	t.Helper()
	n, err := raw.Do(t.Context(), raw.B().Exists().Key(q.q.of.list, q.q.of.times).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n, "a key that is left")
}

func waitingIn(t testing.TB, q *Delayed[string]) (vs []string) {
	t.Helper()
	for w, err := range q.Waiting(t.Context()) {
		require.NoError(t, err)
		vs = append(vs, w.Value)
	}
	return vs
}

func TestDelayed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := delayedOn(t, engineOn(t, raw))
		began := time.Now()
		for _, v := range []string{"c", "a", "b"} {
			postponedTo(t, q, v, map[string]time.Duration{"a": time.Hour, "b": 2 * time.Hour, "c": 3 * time.Hour}[v])
		}
		n, err := q.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		require.Equal(t, []string{"a", "b", "c"}, waitingIn(t, q))
		for w := range q.Waiting(t.Context()) {
			require.WithinRange(t, w.Due, began.Add(time.Hour-time.Millisecond), time.Now().Add(time.Hour+time.Millisecond))
			break
		}
		packed := contents(t, raw, "redisson_delay_queue:{"+q.Name()+"}")
		require.Len(t, packed, 3)
		require.Equal(t, "\x08", packed[0][:1])
		require.Equal(t, "\x01\x00\x00\x00\x00\x00\x00\x00c", packed[0][9:])
		score, err := raw.Do(t.Context(), raw.B().Zscore().Key("redisson_delay_queue_timeout:{"+q.Name()+"}").Member(packed[0]).Build()).AsFloat64()
		require.NoError(t, err)
		require.InDelta(t, began.Add(3*time.Hour).UnixMilli(), score, float64(time.Since(began).Milliseconds()+2))

		_, err = q.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		postponedTo(t, q, "now", 0)
		v, err := q.Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "now", v)
		postponedTo(t, q, "soon", 30*time.Millisecond)
		v, err = q.Queue().Take(within(t)) // the client has offered, so it moves
		require.NoError(t, err)
		require.Equal(t, "soon", v)
		require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)

		for _, v := range []string{"a", "d", "d"} {
			postponedTo(t, q, v, time.Hour)
		}
		n, err = q.Remove(t.Context(), "a", 1)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		n, err = q.Remove(t.Context(), "d", 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = q.Remove(t.Context(), "none", 0)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Len(t, waitingIn(t, q), 3)
		gone, err := q.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, gone)
		requireNothingWaits(t, raw, q)
		gone, err = q.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, gone)
		moved, err := q.Move(t.Context())
		require.NoError(t, err)
		require.Zero(t, moved)
	})
}

// TestVeryManyEqualElementsAreRemovedInPieces, since the server does nothing else
// meanwhile.
func TestVeryManyEqualElementsAreRemovedInPieces(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const equal = 700
		e := engineOn(t, raw)
		q := delayedOn(t, e)
		for i := range equal {
			foreign(t, raw, q, pack("equal"), time.Hour, false)
			if i%7 == 0 {
				foreign(t, raw, q, pack("other"), time.Hour, false)
			}
		}
		of := []string{q.q.of.times, q.q.of.list}
		step, err := removalOf(e.Run(t.Context(), delayedRemove, of, []string{"0", "1000", "16", "equal", "50000"}))
		require.NoError(t, err)
		require.Positive(t, step.removed)
		require.LessOrEqual(t, step.removed, int64(16))
		n, err := q.Remove(t.Context(), "equal", 100)
		require.NoError(t, err)
		require.EqualValues(t, 100, n)
		n, err = q.Remove(t.Context(), "equal", 0)
		require.NoError(t, err)
		require.EqualValues(t, equal-100-step.removed, n)
		require.Len(t, contents(t, raw, q.q.of.list), equal/7)
		n, err = q.Remove(t.Context(), "other", 0)
		require.NoError(t, err)
		require.EqualValues(t, equal/7, n)
		requireNothingWaits(t, raw, q)
	})
}

// TestWhoMoves: who has offered, who takes and who keeps, and nobody else.
func TestWhoMoves(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		producer := engineOn(t, raw)
		q := delayedOn(t, producer)
		postponedTo(t, q, "offered", 0)
		_, err := q.Queue().Take(within(t))
		require.NoError(t, err)
		foreign(t, raw, q, pack("another's"), 20*time.Millisecond, true)
		v, err := q.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "another's", v)

		postponedTo(t, q, "left", 1500*time.Millisecond) // the producer is closed by then
		require.NoError(t, locking.Close(t.Context(), producer))
		taker := engineOn(t, raw)
		other := NewDelayed[string](taker, q.Name(), WithCodec(codec.Text))
		time.Sleep(1600 * time.Millisecond)
		n, err := other.Queue().Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "nobody is there who moves it")
		v, err = other.Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "left", v)
		foreign(t, raw, q, pack("polled"), 0, false)
		v, err = other.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, "polled", v)
		require.NoError(t, locking.Close(t.Context(), taker)) // who has taken looks once more
		other = also(t, q, raw)
		foreign(t, raw, q, pack("moved"), 0, false)
		n, err = other.Move(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		v, err = other.Queue().Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, "moved", v)

		ctx, cancel := context.WithCancelCause(t.Context())
		kept := make(chan error)
		go func() { kept <- other.Keep(ctx) }()
		foreign(t, raw, q, pack("kept"), 20*time.Millisecond, true)
		v, err = other.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "kept", v)
		cause := errors.New("enough")
		cancel(cause)
		err = <-kept
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, context.Canceled)
		requireNothingWaits(t, raw, q)
	})
}

// TestAMessageOnlyBringsALookForward, whatever it says, and an earlier element that
// comes later is moved first.
func TestAMessageOnlyBringsALookForward(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, raw rueidis.Client) {
		q := delayedOn(t, engineOn(t, raw))
		keep(t, q)
		foreign(t, raw, q, pack("second"), 3*time.Second, true)
		foreign(t, raw, q, pack("first"), 100*time.Millisecond, true)
		for _, text := range []string{"99999999999999999", "-1", "", "x", "1e99", decimal(time.Now().Add(time.Hour).UnixMilli())} {
			require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel(q.q.of.channel).Message(text).Build()).Error())
		}
		for _, want := range []string{"first", "second"} {
			v, err := q.Queue().Take(within(t))
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
	})
}

// keep keeps a queue until the test ends, and listens already.
func keep(t testing.TB, q *Delayed[string]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = q.Keep(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	for _, name := range []string{q.q.of.channel, q.q.of.news} {
		channel := pubsub.Channel{Kind: pubsub.Plain, Name: name}
		redistest.Eventually(t, func() bool { return q.q.h.e.ListenersHere(channel) > 0 }, soon, time.Millisecond)
	}
}

// TestALostMessageHoldsNothingUpForLong: what is due is looked for, too.
func TestALostMessageHoldsNothingUpForLong(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	q := delayedOn(t, engineOn(t, raw))
	keep(t, q)
	time.Sleep(100 * time.Millisecond) // the first look is over
	foreign(t, raw, q, pack("stalled"), 0, false)
	v, err := q.Queue().Take(within(t))
	require.NoError(t, err)
	require.Equal(t, "stalled", v)
}

// TestAnOverdueHeadIsPublishedAgain, since who moves may have missed it.
func TestAnOverdueHeadIsPublishedAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := delayedOn(t, engineOn(t, raw))
		of := q.q.of
		heard := subscribed(t, raw, of.channel)
		// By the script alone: a client that offers would move what is due.
		offer := func(lane string, due int64) {
			t.Helper()
			got := raw.Do(t.Context(), raw.B().Eval().Script(delayedOffer.Body()).Numkeys(3).Key(of.times, of.lane+lane, of.list).
				Arg("1", "45000", of.channel, decimal(time.Now().UnixMilli()-overdue), decimal(due), pack(lane)).Build())
			require.NoError(t, got.Error())
		}
		now := time.Now().UnixMilli()
		offer("a", now+60_000)
		require.Equal(t, decimal(now+60_000), <-heard)
		offer("b", now+120_000) // is not the head
		offer("c", now-5000)
		require.Equal(t, decimal(now-5000), <-heard)
		offer("d", now+90_000)
		require.Equal(t, decimal(now-5000), <-heard)
		require.Empty(t, heard)
	})
}

// subscribed hears a plain channel.
func subscribed(t testing.TB, raw rueidis.Client, channel string) <-chan string {
	t.Helper()
	heard, ready := make(chan string, 100), make(chan struct{})
	c, release := raw.Dedicate()
	t.Cleanup(release)
	c.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { heard <- m.Message },
		OnSubscription: func(rueidis.PubSubSubscription) { close(ready) },
	})
	require.NoError(t, c.Do(t.Context(), c.B().Subscribe().Channel(channel).Build()).Error())
	<-ready
	return heard
}

// TestEachElementIsMovedOnce by several clients that move at the same time, in any
// order of their times, and by connections that are cut.
func TestEachElementIsMovedOnce(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		elements := redistest.Count(t, 1500, 20_000)
		client, proxy := through(t, server)
		first := delayedOn(t, engineOn(t, raw))
		qs := []*Delayed[string]{first, also(t, first, raw), also(t, first, client)}
		for _, q := range qs {
			keep(t, q)
		}
		var all sync.WaitGroup
		b := newBooks()
		for i, q := range qs {
			for j := range 4 {
				all.Go(func() {
					for n := 4*i + j; n < elements; n += 12 {
						v := decimal(int64(n))
						_, err := q.Offer(t.Context(), v, time.Duration(n*37%400)*time.Millisecond)
						b.mu.Lock()
						b.offered[v] = err == nil
						b.mu.Unlock()
						if err != nil {
							assert.ErrorIs(t, err, ErrOutcomeUnknown)
						}
						if n%200 == 8 {
							proxy.CutAll()
						}
					}
				})
			}
		}
		all.Wait()
		redistest.Eventually(t, func() bool { n, err := first.Len(t.Context()); return err == nil && n == 0 }, soon, time.Millisecond)
		got, err := first.Queue().Drain(t.Context())
		require.NoError(t, err)
		require.Zero(t, b.check(t, got...), "were lost")
		requireNothingWaits(t, raw, first)
	})
}

func distinctOf(vs []string) map[string]bool {
	m := make(map[string]bool, len(vs))
	for _, v := range vs {
		m[v] = true
	}
	return m
}

// TestALostReplyAboutADelayedQueue drops replies, also of an offer whose element was
// moved before it is said again, and has copies come late.
func TestALostReplyAboutADelayedQueue(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		raw := server.Client(t)
		e := engineOn(t, client, shortSends)
		offers := redistest.MatchScript(delayedOffer.Body())

		moving := delayedOn(t, e)
		keep(t, also(t, moving, raw))
		lost := proxy.DropReply(offers, 2)
		postponedTo(t, moving, "a", 0)
		lost.Await(t)
		v, err := moving.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "a", v)
		time.Sleep(50 * time.Millisecond)
		n, err := moving.Queue().Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		requireNothingWaits(t, raw, moving)

		removed := delayedOn(t, e)
		late := proxy.HoldRequest(offers)
		postponedTo(t, removed, "paid", time.Hour) // by its second send
		late.Await(t)
		gone, err := also(t, removed, raw).Remove(t.Context(), "paid", 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		late.Release() // the copy that was overtaken
		time.Sleep(50 * time.Millisecond)
		requireNothingWaits(t, raw, removed)

		lost = proxy.DropReply(offers, 100)
		_, err = removed.Offer(t.Context(), "unknown", time.Hour)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		lost.Cancel()
		require.Equal(t, []string{"unknown"}, waitingIn(t, removed), "it was done once")

		moved := delayedOn(t, e)
		foreign(t, raw, moved, pack("b"), 0, false)
		lost = proxy.DropReply(redistest.MatchScript(delayedMove.Body()), 1)
		_, err = moved.Move(t.Context())
		require.NoError(t, err)
		lost.Await(t)
		got, err := moved.Queue().Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, got)

		foreign(t, raw, moved, pack("c"), time.Hour, false)
		lost = proxy.DropReply(redistest.MatchScript(delayedRemove.Body()), 1)
		_, err = moved.Remove(t.Context(), "c", 0)
		lost.Await(t)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		requireNothingWaits(t, raw, moved)
	})
}

// TestWhatIsNoPackedElement is set aside, told, and holds nothing up.
func TestWhatIsNoPackedElement(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		var log enginetest.Log
		q := delayedOn(t, engineOn(t, raw, log.To))
		bad := []string{"", "x", "\x08", "plain text", pack("short")[:15], pack("long") + "er", "\xff" + strings.Repeat("a", 40), pack("a")[:9] + "\x01\x00\x00\x00\x01\x00\x00\x00a"}
		for i, packed := range bad {
			foreign(t, raw, q, packed, time.Duration(i-20)*time.Millisecond, false)
		}
		foreign(t, raw, q, pack("good"), 0, false)
		foreign(t, raw, q, "\x00\x04\x00\x00\x00\x00\x00\x00\x00also", -time.Hour, false) // unique by nothing
		undecoded := 0
		for w, err := range q.Waiting(t.Context()) {
			if err != nil {
				require.ErrorIs(t, err, ErrDecode)
				require.ErrorContains(t, err, q.Name())
				undecoded++
			} else {
				require.Contains(t, []string{"good", "also"}, w.Value)
			}
		}
		require.Equal(t, len(bad), undecoded)
		n, err := q.Remove(t.Context(), "x", 0)
		require.NoError(t, err)
		require.Zero(t, n)

		n, err = q.Move(t.Context())
		require.ErrorIs(t, err, ErrDecode)
		var decode *codec.DecodeError
		require.ErrorAs(t, err, &decode)
		require.Empty(t, decode.Bytes)
		require.EqualValues(t, 2, n)
		require.Equal(t, []string{"also", "good"}, contents(t, raw, q.Name()))
		require.Equal(t, bad, contents(t, raw, q.q.of.aside))
		requireNothingWaits(t, raw, q)
		n, err = q.Move(t.Context())
		require.NoError(t, err, "it is not told again")
		require.Zero(t, n)

		foreign(t, raw, q, "secret", -time.Hour, false)
		_, err = q.Poll(t.Context())
		require.NoError(t, err)
		keep(t, q)
		redistest.Eventually(t, func() bool { return log.Has("set aside") }, soon, time.Millisecond)
		require.False(t, log.Has("secret"))
		gone, err := q.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, gone)
		n, err = raw.Do(t.Context(), raw.B().Exists().Key(q.q.of.aside).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestPollGoesOnBehindWhatIsSetAside, and the log hears of that.
func TestPollGoesOnBehindWhatIsSetAside(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	var log enginetest.Log
	q := delayedOn(t, engineOn(t, raw, log.To))
	cmd := raw.B().Zadd().Key(q.q.of.times).ScoreMember()
	for i := range 2*mostMoved + 1 {
		cmd = cmd.ScoreMember(1, fmt.Sprintf("\x08%05d", i))
	}
	require.NoError(t, raw.Do(t.Context(), cmd.Build()).Error())
	foreign(t, raw, q, pack("good"), -time.Second, false)
	v, err := q.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, "good", v)
	require.True(t, log.Has("set aside"))
}

// TestWhatCannotBeMovedSetsNothingAside, since it would again and again.
func TestWhatCannotBeMovedSetsNothingAside(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := delayedOn(t, engineOn(t, raw))
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(q.Name()).Value("text").Build()).Error())
		foreign(t, raw, q, "bad", -time.Second, false)
		foreign(t, raw, q, pack("good"), -time.Second, false)
		_, err := q.Move(t.Context())
		require.ErrorContains(t, err, "WRONGTYPE")
		require.Empty(t, contents(t, raw, q.q.of.aside))
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(q.Name()).Build()).Error())
	})
}

// TestWhatIsSetAsideIsBounded.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	q := delayedOn(t, engineOn(t, raw))
	const bad = mostAside + 150
	cmd := raw.B().Zadd().Key(q.q.of.times).ScoreMember()
	for i := range bad {
		cmd = cmd.ScoreMember(1, fmt.Sprintf("\x08%05d", i))
	}
	require.NoError(t, raw.Do(t.Context(), cmd.Build()).Error())
	_, err := q.Move(t.Context())
	require.ErrorIs(t, err, ErrDecode)
	aside := contents(t, raw, q.q.of.aside)
	require.Len(t, aside, mostAside)
	require.Equal(t, fmt.Sprintf("\x08%05d", bad-1), aside[mostAside-1])
}

// TestAKeyOfAnotherType is said, by whoever needs it, and nothing is half done.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for i := range 3 {
			q := delayedOn(t, engineOn(t, raw))
			key := q.q.Keys[i]
			foreign(t, raw, q, pack("a"), 0, false)
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("text").Build()).Error())
			ops := map[string]func() error{
				"move": func() error { _, err := q.Move(t.Context()); return err },
				"take": func() error { _, err := q.Take(t.Context()); return err },
				"poll": func() error { _, err := q.Poll(t.Context()); return err },
				"keep": func() error { return q.Keep(t.Context()) },
			}
			if i > 0 {
				ops["offer"] = func() error { _, err := q.Offer(t.Context(), "b", 0); return err }
				ops["remove"] = func() error { _, err := q.Remove(t.Context(), "a", 0); return err }
			}
			for name, op := range ops {
				err := op()
				require.ErrorContains(t, err, "WRONGTYPE", name)
				require.ErrorContains(t, err, q.Name(), name)
			}
			if key != q.q.of.list {
				list, err := raw.Do(t.Context(), raw.B().Llen().Key(q.q.of.list).Build()).AsInt64()
				require.NoError(t, err)
				require.EqualValues(t, 1, list)
			}
			if key != q.q.of.times {
				times, err := raw.Do(t.Context(), raw.B().Zcard().Key(q.q.of.times).Build()).AsInt64()
				require.NoError(t, err)
				require.EqualValues(t, 1, times)
			}
			require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(key).Build()).Error())
		}
	})
}

// TestTimesAndDelaysOfAnyKind.
func TestTimesAndDelaysOfAnyKind(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := delayedOn(t, engineOn(t, raw))
		for _, d := range []time.Duration{-1, -time.Hour, -1 << 63} {
			_, err := q.Offer(t.Context(), "a", d)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		postponedTo(t, q, "late", 1<<63-1)
		clock := enginetest.NewClock()
		clock.Set(time.UnixMilli(latest - 1000))
		last := NewDelayed[string](engineOn(t, raw, clock.To), redistest.Name(t))
		_, err := last.Offer(t.Context(), "a", 2*time.Second)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = q.Remove(t.Context(), "a", -1)
		require.ErrorIs(t, err, ErrInvalidArgument)

		zadd := func(score, member string) {
			t.Helper()
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("ZADD").Keys(q.q.of.times).Args(score, member).Build()).Error())
		}
		zadd("-1e300", pack("long ago"))
		zadd("+inf", pack("never"))
		zadd("1e300", pack("hardly"))
		_, err = q.Move(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"late", "hardly", "never"}, waitingIn(t, q))
		keep(t, q)
		postponedTo(t, q, "soon", 10*time.Millisecond)
		for _, want := range []string{"long ago", "soon"} {
			v, err := q.Take(within(t))
			require.NoError(t, err)
			require.Equal(t, want, v)
		}
	})
}

// TestDelayedQueuesThatAreUsedOnceLeaveNothing in the process, but for a few that
// are looked after still.
func TestDelayedQueuesThatAreUsedOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Start(t).Client(t)
	e := engineOn(t, raw)
	prefix := redistest.Name(t)
	m := hubOf(e).movers
	for i := range redistest.Count(t, 1000, 1_000_000) {
		q := NewDelayed[string](e, prefix+decimal(int64(i)), WithCodec(codec.Text))
		_, err := q.Offer(t.Context(), "a", time.Millisecond)
		require.NoError(t, err)
		if i%10 == 0 {
			_, err = q.Take(within(t))
			require.NoError(t, err)
		}
	}
	redistest.Eventually(t, func() bool { return m.Len() <= mostIdle }, soon, time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	require.LessOrEqual(t, m.idle, mostIdle)
}

// TestACloseWithATransferInHand loses nothing: what it has not moved, others do.
func TestACloseWithATransferInHand(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		closing := engineOn(t, raw)
		q := delayedOn(t, closing)
		elements := redistest.Count(t, 2000, 20_000)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := i; n < elements; n += 8 {
					_, err := q.Offer(t.Context(), decimal(int64(n)), 100*time.Millisecond)
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		waits := make(chan error, 2)
		go func() { waits <- q.Keep(t.Context()) }()
		go func() {
			for {
				if _, err := NewDelayed[string](closing, q.Name()+" empty").Take(t.Context()); err != nil {
					waits <- err
					return
				}
			}
		}()
		redistest.Eventually(t, func() bool { n, err := q.Queue().Len(t.Context()); return err == nil && n > 0 }, soon, time.Millisecond)
		require.NoError(t, locking.Close(t.Context(), closing))
		require.ErrorIs(t, <-waits, ErrClosed)
		require.ErrorIs(t, <-waits, ErrClosed)
		rest := also(t, q, raw)
		keep(t, rest)
		redistest.Eventually(t, func() bool { n, err := rest.Len(t.Context()); return err == nil && n == 0 }, soon, time.Millisecond)
		got, err := rest.Queue().Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, elements, len(got))
		require.Equal(t, elements, len(distinctOf(got)))
		requireNothingWaits(t, raw, rest)
	})
}

// TestAClockThatIsSet: back, nothing is lost, and forth, what is due is moved at once.
func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		start := time.UnixMilli(1_800_000_000_000)
		clock := enginetest.NewClock()
		clock.Set(start)
		q := delayedOn(t, engineOn(t, raw, clock.To))
		postponedTo(t, q, "hour", time.Hour)
		clock.Set(start.Add(-time.Hour))
		postponedTo(t, q, "now", 0)
		v, err := q.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "now", v)
		clock.Set(start.Add(-24 * time.Hour))
		require.Equal(t, []string{"hour"}, waitingIn(t, q))
		clock.Set(start.Add(time.Hour))
		v, err = q.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "hour", v)
	})
}
