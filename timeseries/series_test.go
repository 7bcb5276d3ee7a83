package timeseries

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestEachOperation runs each on a series of four entries. One of them has expired.
func TestEachOperation(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { eachOperation(t, raw) })
}

func eachOperation(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	for what, one := range effects {
		k := kitOn(e, fresh(t, raw))
		old(t, raw, k.name)
		answer, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
		require.Equal(t, one.answer, answer, what)
		require.Equal(t, one.left, state(t, raw, k.name), what)
	}
	k := kitOn(e, fresh(t, raw))
	old(t, raw, k.name)
	for what, one := range looks {
		answer, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
		require.Equal(t, one.answer, answer, what)
	}
	require.Equal(t, first, state(t, raw, k.name))
}

// TestNoArgumentsAnswerWithoutACall.
func TestNoArgumentsAnswerWithoutACall(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	k := kitOn(enginetest.On(t, client), redistest.Name(t))
	ctx := t.Context()
	for what, do := range map[string]func() (any, error){
		"add":       func() (any, error) { return some(k.s.AddMany(ctx, nil)) },
		"first":     func() (any, error) { return some(k.s.First(ctx, 0)) },
		"last":      func() (any, error) { return some(k.s.Last(ctx, 0)) },
		"pop first": func() (any, error) { return some(k.s.PopFirst(ctx, 0)) },
		"pop last":  func() (any, error) { return some(k.s.PopLast(ctx, 0)) },
		"walk":      func() (any, error) { return walked(k.s.All(ctx, WithLimit(0))) },
	} {
		answer, err := do()
		require.NoError(t, err, what)
		require.Empty(t, answer, what)
	}
	require.Zero(t, proxy.Count(redistest.Arg(k.name)))
}

// TestOneTimeHasManyEntries, also equal ones, which come in the order of their bytes.
func TestOneTimeHasManyEntries(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		for range 3 {
			require.NoError(t, k.s.Add(ctx, at(7).Add(999*time.Microsecond), "same"))
		}
		got, err := walked(k.s.Range(ctx, at(7).Add(time.Microsecond), at(7)))
		require.NoError(t, err)
		require.Equal(t, "7=same 7=same 7=same", got)
		n, err := k.s.RemoveRange(ctx, at(7), at(7))
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		there, err := k.s.Exists(ctx)
		require.NoError(t, err)
		require.False(t, there)
	})
}

// TestTimesAreExact up to the first and the last one.
func TestTimesAreExact(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		times := []time.Time{Earliest, Earliest.Add(time.Millisecond), at(-1), at(0), at(1), at(1_800_000_000_123), Latest.Add(-time.Millisecond), Latest}
		for i, when := range times {
			require.NoError(t, k.s.Add(ctx, when, fmt.Sprint(i)))
		}
		i := 0
		for e, err := range k.s.All(ctx) {
			require.NoError(t, err)
			require.True(t, e.Time.Equal(times[i]), "%v %v", e.Time, times[i])
			require.Equal(t, fmt.Sprint(i), e.Value)
			got, there, err := k.s.Get(ctx, times[i])
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, e, got)
			i++
		}
		require.Equal(t, len(times), i)
	})
}

// TestWhatOthersHaveWritten: forms of a newer Redisson, entries without an end, and what is no entry.
func TestWhatOthersHaveWritten(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		newer := func(n int, value, label string) string {
			p := packed{value, label, true}.text(fmt.Sprintf("%020d", n))
			return "\x04" + p[1:]
		}
		put(t, raw, k.name, "1", newer(1, "val", "\x02"), in(ever))
		put(t, raw, k.name, "2", newer(2, "val", "\x03lab"), in(ever))
		redistest.Do(t, raw, "ZADD", k.name, "3", packed{value: "no end"}.text(idOf("x")))
		put(t, raw, k.name, "4", packed{value: "infinite"}.text(idOf("y")), "inf")
		got, err := walked(k.s.All(ctx))
		require.NoError(t, err)
		require.Equal(t, "1=val 2=val/lab 3=no end 4=infinite", got)

		for i, foreign := range []string{"text", "", "\x02", packed{value: "half"}.text(idOf("z"))[:30]} {
			redistest.Do(t, raw, "ZADD", k.name, decimal(int64(10+i)), foreign)
		}
		redistest.Do(t, raw, "ZADD", k.name, "1.5", packed{value: "no time"}.text(idOf("t")), "inf", packed{value: "no time"}.text(idOf("u")),
			"1e19", packed{value: "too late"}.text(idOf("v")))
		good, bad := 0, 0
		for _, err := range k.s.All(ctx) {
			if err == nil {
				good++
				continue
			}
			var broken *codec.DecodeError
			require.ErrorAs(t, err, &broken)
			require.ErrorIs(t, err, ErrDecode)
			require.ErrorIs(t, err, core.ErrNotice)
			require.NotContains(t, err.Error(), "half")
			bad++
		}
		require.Equal(t, []int{4, 7}, []int{good, bad})
		n, err := k.s.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 11, n)
		popped, err := k.s.PopLast(ctx, 8)
		require.ErrorIs(t, err, ErrDecode)
		require.Equal(t, "infinite", popped[0].Value)
		require.NoError(t, k.s.Add(ctx, at(5), "after what is infinite"))
		removed, err := k.s.RemoveRange(ctx, Earliest, Latest)
		require.NoError(t, err)
		require.EqualValues(t, 4, removed)
		require.Empty(t, state(t, raw, k.name))
	})
}

// TestLeftoversAreDropped: the times of entries that somebody deleted without them, and the counter of a newer Redisson when the last entry
// goes.
func TestLeftoversAreDropped(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		old(t, raw, k.name)
		redistest.Do(t, raw, "DEL", k.name)
		require.NoError(t, k.s.Add(ctx, at(5), "d"))
		require.Equal(t, "5=d:forever", state(t, raw, k.name))
		require.NoError(t, last(k.s.PopFirst(ctx, 1)))
		for what, remove := range map[string]func() error{
			"remove": func() error { return last(k.s.Remove(ctx, at(5))) },
			"pop":    func() error { return last(k.s.PopLast(ctx, 2)) },
			"range":  func() error { return last(k.s.RemoveRange(ctx, at(4), at(5))) },
			"delete": func() error { return last(k.s.Delete(ctx)) },
		} {
			require.NoError(t, k.s.Add(ctx, at(5), "d"), what)
			redistest.Do(t, raw, "HSET", keys.SeriesIDs(k.name), "id", "7")
			require.NoError(t, remove(), what)
			msg := redistest.Do(t, raw, "EXISTS", keys.SeriesIDs(k.name))
			n, err := msg.AsInt64()
			require.NoError(t, err)
			require.Zero(t, n, what)
		}
		redistest.Do(t, raw, "ZADD", keys.SeriesEnds(k.name), "1", "stale")
		did, err := k.s.Rename(ctx, k.to)
		require.NoError(t, err)
		require.False(t, did, "there is no series")
	})
}

// TestAllKeysExpireTogether, also those that are made later.
func TestAllKeysExpireTogether(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		require.NoError(t, k.s.Add(ctx, at(1), "a"))
		require.NoError(t, last(k.s.Expire(ctx, hour)))
		redistest.Do(t, raw, "DEL", keys.SeriesEnds(k.name)) // as an eviction does
		require.NoError(t, k.s.Add(ctx, at(2), "b"))
		for _, key := range keys.Series(k.name)[:2] {
			left := redistest.Left(t, raw, key)
			require.True(t, left > hour/2 && left <= hour, "%s: %v", key, left)
		}
		got, err := walked(k.s.All(ctx))
		require.NoError(t, err)
		require.Equal(t, "1=a 2=b", got)
	})
}

// numbered returns entries with a time each.
func numbered(from, to int, size int) (all []Entry[string]) {
	for i := from; i < to; i++ {
		all = append(all, Entry[string]{Time: at(int64(i)), Value: fmt.Sprint(i) + strings.Repeat("x", size)})
	}
	return all
}

// TestWalksGoOnWhereTheyWere, also if what they saw last has gone, and past entries that have expired.
func TestWalksGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		ctx := t.Context()
		all := numbered(0, 5000, 0)
		n, err := r.s.AddMany(ctx, all)
		require.NoError(t, err)
		require.EqualValues(t, 5000, n)
		r.write(0, numbered(1000, 4500, 1)...) // expired ones between the others
		for _, back := range []bool{false, true} {
			var opts []RangeOption
			want := slices.Clone(all)
			if back {
				opts = append(opts, WithDescending())
				slices.Reverse(want)
			}
			i := 0
			for e, err := range r.s.All(ctx, opts...) {
				require.NoError(t, err)
				require.Equal(t, want[i].Value, e.Value)
				if i++; i%50 == 0 { // perhaps the last one of its page
					require.NoError(t, last(r.s.Remove(ctx, e.Time)))
				}
			}
			require.Equal(t, len(want), i)
			r.clear()
			require.NoError(t, last(r.s.AddMany(ctx, all)))
			r.write(0, numbered(1000, 4500, 1)...)
		}
		got, err := r.s.PopLast(ctx, 3000)
		require.NoError(t, err)
		require.Len(t, got, 3000)
		require.Equal(t, "4999", got[0].Value)
		require.Equal(t, "2000", got[2999].Value)
		got, err = r.s.PopFirst(ctx, 1500)
		require.NoError(t, err)
		require.Equal(t, "1499", got[1499].Value)
		n, err = r.s.RemoveRange(ctx, at(1490), at(9000))
		require.NoError(t, err)
		require.EqualValues(t, 500, n)
		n, err = r.s.Len(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		require.EqualValues(t, 3500, r.card(), "what has expired is left to the sweeper")
	})
}

// TestAnswersAreBounded: of entries of 50 KB no answer has much more than a megabyte.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	c := &redistest.Weighed{Client: raw}
	k, ctx := kitOn(enginetest.On(t, c), fresh(t, raw)), t.Context()
	all := numbered(1000, 1100, 50_000)
	n, err := k.s.AddMany(ctx, all)
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	for what, way := range map[string]func() ([]Entry[string], error){
		"walk":  func() ([]Entry[string], error) { return collected(k.s.All(ctx)) },
		"range": func() ([]Entry[string], error) { return collected(k.s.Range(ctx, at(0), at(9999))) },
		"first": func() ([]Entry[string], error) { return k.s.First(ctx, 100) },
	} {
		got, err := way()
		require.NoError(t, err, what)
		require.Equal(t, all, got, what)
		require.Less(t, c.Most.Swap(0), int64(2<<20), what)
	}
	got, err := k.s.PopFirst(ctx, 100)
	require.NoError(t, err)
	require.Equal(t, all, got)
	require.Less(t, c.Most.Swap(0), int64(2<<20))
	_, err = k.s.AddMany(ctx, all)
	require.NoError(t, err)
	n, err = k.s.RemoveRange(ctx, Earliest, Latest)
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	require.Less(t, c.Most.Swap(0), int64(1<<10))
}

// TestNoCallIsLong: 5 ms of the server at most, however many entries there are, and also if all have expired.
func TestNoCallIsLong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	clock := enginetest.NewClock()
	e, bounded := enginetest.BoundedOn(t, server, clock.To)
	r := &rig{t, server.Client(t), kitOn(e, "series").s, clock}
	ctx := t.Context()
	all := numbered(0, redistest.Count(t, 50_000, 300_000), 20)
	bounded.Judge("live", r.clear, func() error {
		_, added := r.s.AddMany(ctx, all)
		_, walked := collected(r.s.All(ctx))
		_, last := r.s.Last(ctx, len(all))
		_, popped := r.s.PopLast(ctx, len(all)/2)
		_, removed := r.s.RemoveRange(ctx, Earliest, Latest)
		return firstOf(added, walked, last, popped, removed)
	})
	var later []Entry[string] // after 21 small ones as many are read at once as ever
	later = append(later, numbered(0, 21, 5)...)
	later = append(later, numbered(21, 21+64, 200_000)...)
	for what, ends := range map[string]time.Duration{"large ones after small ones": time.Hour, "large ones that expired": 0} {
		fill := func() {
			r.clear()
			r.write(ends, later...)
		}
		bounded.Judge(what, fill, func() error {
			_, walked := collected(r.s.All(ctx))
			_, first := r.s.First(ctx, 22)
			_, last := r.s.Last(ctx, 3)
			_, popped := r.s.PopFirst(ctx, 22)
			_, removed := r.s.RemoveRange(ctx, Earliest, Latest)
			return firstOf(walked, first, last, popped, removed, r.visit().Err)
		})
	}
	expired := func() {
		r.clear()
		r.write(0, all...)
	}
	bounded.Judge("expired", expired, func() error {
		_, first := r.s.First(ctx, 1)
		_, popped := r.s.PopFirst(ctx, 1)
		_, counted := r.s.Len(ctx)
		v := r.visit()
		for v.Err == nil && v.More {
			v = r.visit()
		}
		return firstOf(first, popped, counted, v.Err)
	})
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestValuesOfTypes have the codec of the client, and so have labels.
func TestValuesOfTypes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	type sample struct {
		A int
		M map[string]any
	}
	s := New[sample](e, fresh(t, raw), WithCodec(codec.JSON))
	require.NoError(t, s.Add(ctx, at(1), sample{1, map[string]any{"x": "y"}}, WithLabel("lab")))
	got, there, err := s.Get(ctx, at(1))
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, sample{1, map[string]any{"x": "y"}}, got.Value)
	require.Equal(t, "lab", got.Label)
	asText, there, err := New[string](e, s.Name(), WithCodec(codec.Text)).Get(ctx, at(1))
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, `"lab"`, asText.Label)

	f := New[float64](e, fresh(t, raw), WithCodec(codec.Kryo5), WithValueCodec(codec.For[float64](codec.Text)))
	require.NoError(t, f.Add(ctx, at(1), 21.5, WithLabel("lab")))
	text := redistest.Do(t, raw, "ZRANGE", f.Name(), "0", "-1")
	all, err := text.AsStrSlice()
	require.NoError(t, err)
	p, err := unpack(all[0])
	require.NoError(t, err)
	require.Equal(t, packed{"21.5", "\x03la\xe2", true}, p, "the bytes of Kryo5")
	_, _, err = New[int](e, f.Name(), WithCodec(codec.Text)).Get(ctx, at(1))
	require.ErrorIs(t, err, ErrDecode)
	require.NotContains(t, err.Error(), "21.5")
}

// TestAsAnObject: time series are copied, renamed and expire as others are.
func TestAsAnObject(t *testing.T) {
	t.Parallel()
	enginetest.AsAnObject(t, func(ctx context.Context, e *locking.Engine) map[string]func(name string) (enginetest.Whole, func(vs ...string) error) {
		return map[string]func(name string) (enginetest.Whole, func(vs ...string) error){
			"time series": func(name string) (enginetest.Whole, func(vs ...string) error) {
				s := New[string](e, name)
				return s, func(vs ...string) error {
					for i, v := range vs {
						if err := s.Add(ctx, at(int64(i)), v, WithTTL(hour)); err != nil {
							return err
						}
					}
					return nil
				}
			},
		}
	})
}

// TestTheEndsOfTimeHaveNoNeighbours: what is at a time that no entry may be added with is not at the last one that it may be, or the first.
func TestTheEndsOfTimeHaveNoNeighbours(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		k, ctx := kitOn(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		for i, time := range []string{"9007199254740994", "-9007199254740994", "inf", "-inf"} {
			put(t, raw, k.name, time, packed{value: time}.text(idOf(decimal(int64(i)))), in(hour))
		}
		for _, end := range []time.Time{Earliest, Latest} {
			for what, do := range map[string]func() (bool, error){
				"get":    func() (bool, error) { _, there, err := k.s.Get(ctx, end); return there, err },
				"take":   func() (bool, error) { _, there, err := k.s.Take(ctx, end); return there, err },
				"remove": func() (bool, error) { return k.s.Remove(ctx, end) },
			} {
				there, err := do()
				require.NoError(t, err, what)
				require.False(t, there, what)
			}
			require.NoError(t, k.s.Add(ctx, end, "end"))
			e, there, err := k.s.Take(ctx, end)
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, "end", e.Value)
		}
		for _, from := range []time.Time{Latest.Add(time.Millisecond), Earliest.Add(-2 * time.Millisecond)} {
			n, err := k.s.RemoveRange(ctx, from, from.Add(time.Millisecond))
			require.NoError(t, err)
			require.Zero(t, n)
		}
		n, err := k.s.RemoveRange(ctx, Earliest, Latest)
		require.NoError(t, err)
		require.EqualValues(t, 4, n, "a range from one end to the other has all")
	})
}

// TestEndsWithoutEntriesAreNoSeries: they are not copied, nor renamed, and are not in the way. Entries without ends are one.
func TestEndsWithoutEntriesAreNoSeries(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx := t.Context()
		k := kitOn(enginetest.On(t, raw), fresh(t, raw))
		leftover := func(name string) {
			redistest.Do(t, raw, "DEL", name)
			redistest.Do(t, raw, "ZADD", keys.SeriesEnds(name), in(hour), packed{value: "left over"}.text(idOf("x")))
		}
		for what, do := range map[string]func(context.Context, string) (bool, error){
			"copy": k.s.Copy, "rename": k.s.Rename, "rename if absent": k.s.RenameIfAbsent,
		} {
			redistest.Do(t, raw, append([]string{"DEL"}, keys.Series(k.to)...)...)
			leftover(k.name)
			did, err := do(ctx, k.to)
			require.NoError(t, err, what)
			require.False(t, did, what)
			require.Empty(t, state(t, raw, k.to), what)
			redistest.Do(t, raw, "DEL", keys.SeriesEnds(k.name))
			leftover(k.to)
			put(t, raw, k.name, "2", packed{value: "b"}.text(idOf("2")), in(hour))
			did, err = do(ctx, k.to)
			require.NoError(t, err, what)
			require.True(t, did, what)
			require.Equal(t, "2=b:hour", state(t, raw, k.to), what)
			redistest.Do(t, raw, append([]string{"DEL"}, keys.Series(k.name)...)...)
			redistest.Do(t, raw, append([]string{"DEL"}, keys.Series(k.to)...)...)
			redistest.Do(t, raw, "ZADD", k.name, "1", packed{value: "a"}.text(idOf("1")))
			leftover(k.to)
			did, err = do(ctx, k.to)
			require.NoError(t, err, what)
			require.True(t, did, what)
			require.Equal(t, "1=a:missing", state(t, raw, k.to), what)
			did, err = do(ctx, k.to)
			require.NoError(t, err, what)
			require.False(t, did, "it is renamed, or the copy is in the way: %s", what)
		}
		for what, do := range map[string]func() (bool, error){
			"expire": func() (bool, error) { return k.s.Expire(ctx, hour) }, "delete": func() (bool, error) { return k.s.Delete(ctx) },
		} {
			redistest.Do(t, raw, append([]string{"DEL"}, keys.Series(k.name)...)...)
			leftover(k.name)
			did, err := do()
			require.NoError(t, err, what)
			require.True(t, did, "as in Redisson: %s", what)
		}
	})
}
