package queue

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// ownOn is a delayed queue of texts in our own format, which the test's end deletes.
func ownOn(t testing.TB, e *locking.Engine) *Delayed[string] {
	t.Helper()
	return NewDelayed[string](e, delayedOn(t, e).Name(), WithCodec(codec.Text))
}

// requireNoOwnKeys looks at the three keys.
func requireNoOwnKeys(t testing.TB, raw rueidis.Client, q *Delayed[string]) {
	t.Helper()
	n, err := raw.Do(t.Context(), raw.B().Exists().Key(q.q.of.dues, q.q.of.elements, q.q.of.index).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n, "a key that is left")
}

// TestDelayedQueueOwnFormat: every operation, and what is in Redis meanwhile.
func TestDelayedQueueOwnFormat(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := ownOn(t, engineOn(t, raw))
		began := time.Now()
		for i, v := range []string{"c", "a", "b", ""} {
			n, err := q.Offer(t.Context(), v, map[string]time.Duration{"a": time.Hour, "b": 2 * time.Hour, "c": 3 * time.Hour, "": 4 * time.Hour}[v])
			require.NoError(t, err)
			require.EqualValues(t, i+1, n)
		}
		require.Equal(t, []string{"a", "b", "c", ""}, waitingIn(t, q))
		for w := range q.Waiting(t.Context()) {
			require.WithinRange(t, w.Due, began.Add(time.Hour-time.Millisecond), time.Now().Add(time.Hour+time.Millisecond))
			break
		}
		ids, err := raw.Do(t.Context(), raw.B().Zrange().Key("rueidisson_delay_dues:{"+q.Name()+"}").Min("0").Max("-1").Build()).AsStrSlice()
		require.NoError(t, err)
		require.Len(t, ids, 4)
		require.Equal(t, delayDigest("a"), ids[0][:digestBytes])
		element, err := raw.Do(t.Context(), raw.B().Hget().Key("rueidisson_delay_elements:{"+q.Name()+"}").Field(ids[0]).Build()).ToString()
		require.NoError(t, err)
		require.Equal(t, "a", element)
		index, err := raw.Do(t.Context(), raw.B().Zrange().Key("rueidisson_delay_index:{"+q.Name()+"}").Min("0").Max("-1").Build()).AsStrSlice()
		require.NoError(t, err)
		require.ElementsMatch(t, ids, index)
		requireNothingWaits(t, raw, q) // of Redisson's

		_, err = q.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		postponedTo(t, q, "soon", 30*time.Millisecond)
		v, err := q.Queue().Take(within(t)) // the client has offered, so it moves
		require.NoError(t, err)
		require.Equal(t, "soon", v)
		require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
		postponedTo(t, q, "now", 0)
		v, err = q.Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "now", v)

		for range 2 {
			postponedTo(t, q, "a", time.Minute)
		}
		gone, err := q.Remove(t.Context(), "a", 1)
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		gone, err = q.Remove(t.Context(), "a", 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, gone)
		gone, err = q.Remove(t.Context(), "none", 0)
		require.NoError(t, err)
		require.Zero(t, gone)
		require.Equal(t, []string{"b", "c", ""}, waitingIn(t, q))
		n, err := q.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		there, err := q.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		requireNoOwnKeys(t, raw, q)
		there, err = q.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, there)
	})
}

// TestDelayedQueueHandlesMoveBothFormats, whoever has offered, and see what waits in their own.
func TestDelayedQueueHandlesMoveBothFormats(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for name, move := range map[string]func(t *testing.T, q *Delayed[string]) []string{
			"take": func(t *testing.T, q *Delayed[string]) (got []string) {
				for range 2 {
					v, err := q.Take(within(t))
					require.NoError(t, err)
					got = append(got, v)
				}
				return got
			},
			"poll": func(t *testing.T, q *Delayed[string]) (got []string) {
				redistest.Eventually(t, func() bool {
					v, err := q.Poll(t.Context())
					if err == nil {
						got = append(got, v)
					}
					return len(got) == 2
				}, soon, time.Millisecond)
				return got
			},
			"move": func(t *testing.T, q *Delayed[string]) (got []string) {
				redistest.Eventually(t, func() bool {
					_, err := q.Move(t.Context())
					require.NoError(t, err)
					some, err := q.Queue().Drain(t.Context())
					require.NoError(t, err)
					got = append(got, some...)
					return len(got) == 2
				}, soon, time.Millisecond)
				return got
			},
			"keep": func(t *testing.T, q *Delayed[string]) (got []string) {
				keep(t, q)
				for range 2 {
					v, err := q.Queue().Take(within(t))
					require.NoError(t, err)
					got = append(got, v)
				}
				return got
			},
		} {
			shared := delayedOn(t, engineOn(t, raw))
			own := NewDelayed[string](engineOn(t, raw), shared.Name(), WithCodec(codec.Text))
			postponedTo(t, shared, "shared", 50*time.Millisecond)
			postponedTo(t, own, "own", 50*time.Millisecond)
			postponedTo(t, shared, "shared, later", time.Hour)
			postponedTo(t, own, "own, later", time.Hour)
			require.NoError(t, locking.Close(t.Context(), shared.q.h.e)) // who has offered moves no more
			require.NoError(t, locking.Close(t.Context(), own.q.h.e))
			for i, by := range []*Delayed[string]{
				also(t, shared, raw), NewDelayed[string](engineOn(t, raw), shared.Name(), WithCodec(codec.Text)),
			} {
				if i == 0 {
					require.ElementsMatch(t, []string{"shared", "own"}, move(t, by), name)
					require.Equal(t, []string{"shared, later"}, waitingIn(t, by), name)
					n, err := by.Remove(t.Context(), "own, later", 0)
					require.NoError(t, err)
					require.Zero(t, n, name)
					postponedTo(t, by, "shared", 0)
					continue
				}
				// The other client may have moved what it has offered itself.
				v, err := by.Take(within(t))
				require.NoError(t, err)
				require.Equal(t, "shared", v, name)
				require.Equal(t, []string{"own, later"}, waitingIn(t, by), name)
				n, err := by.Len(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 1, n, name)
				there, err := by.Delete(t.Context())
				require.NoError(t, err)
				require.True(t, there)
			}
			require.Equal(t, []string{"shared, later"}, waitingIn(t, also(t, shared, raw)), name)
		}
	})
}

// TestDelayedQueueOwnFormatNeedsNoWalk: what is due or removed is anywhere, and a call of
// the server moves, or removes, a hundred.
func TestDelayedQueueOwnFormatNeedsNoWalk(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		q := ownOn(t, engineOn(t, raw))
		waiting := redistest.Count(t, 20_000, 1_000_000)
		now := time.Now().UnixMilli()
		const due = 250
		delays := make([]int64, waiting)
		for i := range delays {
			delays[i] = 3_600_000
		}
		for i := range due {
			delays[i] = -1000
		}
		rand.Shuffle(waiting, func(i, j int) { delays[i], delays[j] = delays[j], delays[i] })
		for at := 0; at < waiting; at += 500 {
			args := []string{"1", "45000", q.q.of.news, "0"}
			for i := at; i < at+500; i++ {
				text := "paid"
				if i%10 > 0 {
					text = strconv.Itoa(i)
				}
				args = append(args, decimal(now+delays[i]), newDelayID(text), text)
			}
			got := raw.Do(t.Context(), raw.B().Eval().Script(delayedOwnOffer.Body()).Numkeys(4).
				Key(q.q.of.dues, q.q.of.lane+strconv.Itoa(at), q.q.of.elements, q.q.of.index).Arg(args...).Build())
			require.NoError(t, got.Error())
		}
		calls := 0
		for more := true; more; calls++ {
			got, err := q.q.h.move(t.Context(), &q.q.of, now)
			require.NoError(t, err)
			more = got.more
		}
		require.Equal(t, (due+mostMoved-1)/mostMoved, calls)
		paid := 0
		for i := 0; i < waiting; i += 10 {
			if delays[i] > 0 {
				paid++
			}
		}
		n, err := q.Remove(t.Context(), "paid", 7)
		require.NoError(t, err)
		require.EqualValues(t, 7, n)
		n, err = q.Remove(t.Context(), "paid", 0)
		require.NoError(t, err)
		require.EqualValues(t, paid-7, n)
		left, err := q.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, waiting-due-paid, left)
		got, err := q.Queue().Drain(t.Context())
		require.NoError(t, err)
		require.Len(t, got, due)
		all := waitingIn(t, q)
		require.Len(t, all, int(left))
		slices.Sort(all)
		require.Len(t, slices.Compact(all), int(left), "each is another")
		require.NotContains(t, all, "paid")
	})
}

// TestDelayedQueueOwnFormatLostReplies: each element once, or not later than an ErrOutcomeUnknown.
func TestDelayedQueueOwnFormatLostReplies(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		raw := server.Client(t)
		e := engineOn(t, client, shortSends)
		offers := redistest.MatchScript(delayedOwnOffer.Body())

		moving := ownOn(t, e)
		keep(t, also(t, moving, raw))
		lost := proxy.DropReply(offers, 2)
		postponedTo(t, moving, "a", 0)
		lost.Await(t)
		v, err := moving.Queue().Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "a", v)

		removed := ownOn(t, e)
		late := proxy.HoldRequest(offers)
		postponedTo(t, removed, "paid", time.Hour) // by its second send
		late.Await(t)
		other := NewDelayed[string](engineOn(t, raw), removed.Name(), WithCodec(codec.Text))
		gone, err := other.Remove(t.Context(), "paid", 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		late.Release() // the copy that was overtaken
		n, err := moving.Queue().Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		requireNoOwnKeys(t, raw, moving)
		requireNoOwnKeys(t, raw, removed)

		lost = proxy.DropReply(offers, 100)
		_, err = removed.Offer(t.Context(), "unknown", time.Hour)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		lost.Cancel()
		require.Equal(t, []string{"unknown"}, waitingIn(t, removed), "it was done once")
		lost = proxy.DropReply(redistest.MatchScript(delayedOwnRemove.Body()), 1)
		_, err = removed.Remove(t.Context(), "unknown", 0)
		lost.Await(t)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		requireNoOwnKeys(t, raw, removed)
	})
}

// TestDelayedQueueOwnFormatTellsWhatIsGone: an element without its bytes holds nothing up.
func TestDelayedQueueOwnFormatTellsWhatIsGone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		var log enginetest.Log
		e := engineOn(t, raw, log.To)
		q := ownOn(t, e)
		postponedTo(t, q, "a", time.Hour)
		postponedTo(t, q, "b", 2*time.Hour)
		ids, err := raw.Do(t.Context(), raw.B().Zrange().Key(q.q.of.dues).Min("0").Max("-1").Build()).AsStrSlice()
		require.NoError(t, err)
		require.NoError(t, raw.Do(t.Context(), raw.B().Hdel().Key(q.q.of.elements).Field(ids[0]).Build()).Error())
		var seen []string
		for w, err := range q.Waiting(t.Context()) {
			if err != nil {
				require.ErrorIs(t, err, ErrDecode)
				require.ErrorIs(t, err, core.ErrNotice)
			}
			seen = append(seen, w.Value)
		}
		require.Equal(t, []string{"", "b"}, seen)
		got, err := q.q.h.move(t.Context(), &q.q.of, time.Now().Add(90*time.Minute).UnixMilli())
		require.NoError(t, err)
		require.EqualValues(t, 1, got.gone)
		require.Zero(t, got.elements)
		q.q.h.tellOf(&q.q.of, got)
		require.True(t, log.Has("are gone"))
		require.Equal(t, []string{"b"}, waitingIn(t, q))
	})
}

// TestDelayedQueueOwnFormatOverKeysOfAnotherType is said, and nothing is half done.
func TestDelayedQueueOwnFormatOverKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for i := range 3 {
			q := ownOn(t, engineOn(t, raw))
			postponedTo(t, q, "a", time.Hour)
			key := q.q.of.waits()[i]
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("text").Build()).Error())
			_, err := q.Offer(t.Context(), "b", 0)
			require.ErrorContains(t, err, "WRONGTYPE", key)
			require.ErrorContains(t, err, q.Name())
			_, err = q.Remove(t.Context(), "a", 0)
			require.ErrorContains(t, err, "WRONGTYPE", key)
			for j, other := range q.q.of.waits() {
				if j == i {
					continue
				}
				size, err := raw.Do(t.Context(), raw.B().Arbitrary([]string{"ZCARD", "HLEN", "ZCARD"}[j]).Keys(other).Build()).AsInt64()
				require.NoError(t, err)
				require.EqualValues(t, 1, size)
			}
			_, err = q.q.h.move(t.Context(), &q.q.of, time.Now().Add(2*time.Hour).UnixMilli())
			require.ErrorContains(t, err, "WRONGTYPE", key)
			n, err := q.Queue().Len(t.Context())
			require.NoError(t, err)
			require.Zero(t, n, key)
			require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(key).Build()).Error())
		}
	})
}

// TestDelayedQueueRemoveInRedissonsFormatWalksToOneAtATime where very many wait.
func TestDelayedQueueRemoveInRedissonsFormatWalksToOneAtATime(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		q := delayedOn(t, engineOn(t, raw))
		const waiting, equal = 60_000, 20
		for at := 0; at < waiting; at += 1000 {
			push := raw.B().Rpush().Key(q.q.of.list).Element()
			for i := range 1000 {
				push = push.Element(strconv.Itoa(at + i))
			}
			require.NoError(t, raw.Do(t.Context(), push.Build()).Error())
		}
		for range equal {
			foreign(t, raw, q, pack("paid"), time.Hour, false)
		}
		removed := int64(0)
		for step := (removal{at: "0"}); !step.over; removed += step.removed {
			var err error
			step, err = removalOf(q.q.run(t.Context(), delayedRemove, []string{q.q.of.times, q.q.of.list},
				step.at, strconv.Itoa(looked), strconv.Itoa(walks), "paid", strconv.Itoa(mostWalked)))
			require.NoError(t, err)
			require.LessOrEqual(t, step.removed, int64(1))
		}
		require.EqualValues(t, equal, removed)
	})
}
