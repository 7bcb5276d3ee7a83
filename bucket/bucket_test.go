package bucket

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestEachOperationDoesWhatItSays to a bucket that is there.
func TestEachOperationDoesWhatItSays(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		for what, one := range effects {
			k := kitOn(e, fresh(t, raw))
			old(t, raw, k.name)
			answer, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			require.Equal(t, one.answer, answer, what)
			require.Equal(t, one.left, state(t, raw, k.name), what)
		}
		for what, one := range reads {
			k := kitOn(e, fresh(t, raw))
			old(t, raw, k.name)
			answer, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			if one.answer != nil {
				require.Equal(t, one.answer, answer, what)
			}
			require.Equal(t, "old hour", state(t, raw, k.name), what)
		}
	})
}

// TestWhatIsNotThere has each operation meet no bucket.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := enginetest.On(t, raw), t.Context()
		b := New[string](e, fresh(t, raw), WithCodec(codec.Text))
		none := func(v string, there bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.False(t, there)
			require.Empty(t, v)
		}
		no := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.False(t, did) }
		yes := func(did bool, err error) { t.Helper(); require.NoError(t, err); require.True(t, did) }
		none(b.Get(ctx))
		none(b.Take(ctx))
		none(b.GetAndExpire(ctx, hour))
		none(b.GetAndPersist(ctx))
		none(b.Update(ctx, func(old string, had bool) (string, Verdict, error) { return old, Keep, nil }))
		none(b.Update(ctx, func(old string, had bool) (string, Verdict, error) { return old, Delete, nil }))
		no(b.SetIfExists(ctx, "v"))
		no(b.CompareAndSwap(ctx, "", "v"))
		no(b.CompareAndDelete(ctx, ""))
		no(b.Exists(ctx))
		no(b.Delete(ctx))
		no(b.Expire(ctx, hour))
		no(b.Persist(ctx))
		no(b.Rename(ctx, "to:{"+b.Name()+"}"))
		left, err := b.Remaining(ctx)
		require.NoError(t, err)
		require.Zero(t, left)
		n, err := b.Size(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, "none", state(t, raw, b.Name()), "nothing was made")

		yes(b.SetIfAbsent(ctx, "v", WithTTL(hour)))
		require.Equal(t, "v hour", state(t, raw, b.Name()))
		yes(b.Delete(ctx))
		none(b.Swap(ctx, "w"))
		require.Equal(t, "w forever", state(t, raw, b.Name()))
		yes(b.Delete(ctx))
		v, there, err := b.Update(ctx, longer)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, "+", v)
		require.Equal(t, "+ forever", state(t, raw, b.Name()), "there was no time to keep")
		left, err = b.Remaining(ctx)
		require.NoError(t, err)
		require.Equal(t, time.Duration(-1), left)
	})
}

// TestAnEmptyValueIsOne: an empty text is there.
func TestAnEmptyValueIsOne(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := enginetest.On(t, raw), t.Context()
		b := New[string](e, fresh(t, raw), WithCodec(codec.Text))
		require.NoError(t, b.Set(ctx, ""))
		_, there, err := b.Get(ctx)
		require.NoError(t, err)
		require.True(t, there)
		all, err := NewMany[string](e, WithCodec(codec.Text)).Get(ctx, b.Name())
		require.NoError(t, err)
		require.Equal(t, map[string]string{b.Name(): ""}, all)
		did, err := b.CompareAndSwap(ctx, "", "a")
		require.NoError(t, err)
		require.True(t, did)
		require.NoError(t, b.Set(ctx, ""))
		did, err = b.CompareAndDelete(ctx, "")
		require.NoError(t, err)
		require.True(t, did)
	})
}

// TestTheTimesOfAHandle gives them to its writes, unless one says otherwise.
func TestTheTimesOfAHandle(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := enginetest.On(t, raw), t.Context()
		name := fresh(t, raw)
		for _, c := range []struct {
			handle []Option
			write  []SetOption
			want   string // of a Set
			update string // of an Update
		}{
			{nil, nil, "forever", "hour"},
			{[]Option{WithTTL(day)}, nil, "day", "day"},
			{[]Option{WithTTL(day)}, []SetOption{WithTTL(0)}, "forever", "forever"},
			{[]Option{WithTTL(day)}, []SetOption{WithKeepTTL()}, "hour", "hour"},
			{[]Option{WithKeepTTL()}, nil, "hour", "hour"},
			{[]Option{WithKeepTTL()}, []SetOption{WithTTL(day)}, "day", "day"},
			{nil, []SetOption{WithTTL(0)}, "forever", "forever"},
		} {
			b := New[string](e, name, append(c.handle, WithCodec(codec.Text))...)
			many := NewMany[string](e, append(c.handle, WithCodec(codec.Text))...)
			for what, set := range map[string]func() error{
				"set":  func() error { return b.Set(ctx, "old", c.write...) },
				"many": func() error { return many.Set(ctx, map[string]string{name: "old"}, c.write...) },
				"swap": func() error { _, _, err := b.Swap(ctx, "old", c.write...); return err },
				"cas":  func() error { _, err := b.CompareAndSwap(ctx, "old", "old", c.write...); return err },
			} {
				old(t, raw, name)
				require.NoError(t, set())
				require.Equal(t, "old "+c.want, state(t, raw, name), what)
			}
			old(t, raw, name)
			_, _, err := b.Update(ctx, longer, c.write...)
			require.NoError(t, err)
			require.Equal(t, "old+ "+c.update, state(t, raw, name))
		}
	})
}

// TestWhatExpiresIsGone by the clock of the server.
func TestWhatExpiresIsGone(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		b := New[int](enginetest.On(t, raw), fresh(t, raw))
		require.NoError(t, b.Set(t.Context(), 1, WithTTL(time.Millisecond)))
		redistest.Eventually(t, func() bool { _, there, err := b.Get(t.Context()); return err == nil && !there }, redistest.Soon, time.Millisecond)
	})
}

// TestWhatDoesNotDecode: a value that does not decode is an error that has its bytes, and not in its text.
func TestWhatDoesNotDecode(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	b := New[int](e, fresh(t, raw))
	good := New[int](e, fresh(t, raw))
	require.NoError(t, good.Set(ctx, 7))
	many := NewMany[int](e)
	for what, op := range map[string]func() error{
		"get":    func() error { _, there, err := b.Get(ctx); assert.True(t, there); return err },
		"swap":   func() error { _, _, err := b.Swap(ctx, 5); return err },
		"take":   func() error { _, _, err := b.Take(ctx); return err },
		"expire": func() error { _, _, err := b.GetAndExpire(ctx, hour); return err },
		"update": func() error {
			_, _, err := b.Update(ctx, func(int, bool) (int, Verdict, error) {
				t.Error("it was called")
				return 0, Keep, nil
			})
			return err
		},
		"many": func() error {
			all, err := many.Get(ctx, b.Name(), good.Name())
			assert.Equal(t, map[string]int{good.Name(): 7}, all, "the others are there")
			return err
		},
	} {
		redistest.Do(t, raw, "SET", b.Name(), "secret")
		err := op()
		require.ErrorIs(t, err, ErrDecode, what)
		undecoded := new(codec.DecodeError)
		require.ErrorAs(t, err, &undecoded)
		require.Equal(t, "secret", string(undecoded.Bytes))
		require.Equal(t, b.Name(), undecoded.Name)
		require.NotContains(t, err.Error(), "secret", what)
		require.ErrorContains(t, err, b.Name())
	}
}

// TestValuesOfEachCodec come back as they were.
func TestValuesOfEachCodec(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := enginetest.On(t, raw), t.Context()
	type price struct {
		Cents int
		In    string
	}
	for _, family := range []codec.Family{codec.Msgpack, codec.JSON} {
		b := New[price](e, fresh(t, raw), WithCodec(family))
		want := price{50, "EUR"}
		require.NoError(t, b.Set(ctx, want))
		got, _, err := b.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
		did, err := b.CompareAndSwap(ctx, want, price{60, "EUR"})
		require.NoError(t, err)
		require.True(t, did)
		got, _, err = b.Update(ctx, func(old price, _ bool) (price, Verdict, error) { old.Cents++; return old, Store, nil })
		require.NoError(t, err)
		require.Equal(t, price{61, "EUR"}, got)
	}
	own := New[int](e, fresh(t, raw), WithValueCodec(codec.For[int](codec.Text)))
	require.NoError(t, own.Set(ctx, 5))
	require.Equal(t, "5 forever", state(t, raw, own.Name()))
}

// TestGetsGoOutTogether: those that come while one is on its way share an answer.
func TestGetsGoOutTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.Plain(t, client)
	b := New[[]byte](e, fresh(t, server.Client(t)))
	require.NoError(t, b.Set(t.Context(), []byte("value")))
	gets := redistest.All(redistest.Command("GET"), redistest.Arg(b.Name()))
	held := proxy.HoldRequest(gets)
	values, errs, callers := make(chan []byte, 1000), make(chan error, 1000), 0
	ask := func() {
		callers++
		go func() { // ends with the release
			v, _, err := b.Get(t.Context())
			values <- v
			errs <- err
		}()
	}
	ask()
	held.Await(t)
	redistest.Eventually(t, func() bool {
		ask()
		waiting, _ := b.b.h.gets.Look(b.Name())
		return waiting >= 10
	}, redistest.Soon, time.Millisecond)
	held.Release()
	seen := map[*byte]bool{}
	for range callers {
		require.NoError(t, redistest.Done(t, errs))
		v := <-values
		require.Equal(t, "value", string(v))
		seen[&v[0]] = true
	}
	require.Len(t, seen, callers, "each has bytes of its own")
	require.LessOrEqual(t, proxy.Count(gets), callers-10+getFlights)
}

// TestAContextBoundsTheWait of each operation.
func TestAContextBoundsTheWait(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.On(t, client)
	k := kitOn(e, fresh(t, server.Client(t)))
	old(t, server.Client(t), k.name)
	proxy.Delay(time.Hour, 0)
	for what, one := range effects {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the caller has gone")
		done := make(chan error, 1)
		go func() { // ends with ctx
			_, err := one.do(ctx, k)
			done <- err
		}()
		cancel(gone)
		err := redistest.Done(t, done)
		require.ErrorIs(t, err, context.Canceled, what)
		require.ErrorIs(t, err, gone, what)
	}
	proxy.Delay(0, 0)
	proxy.CutAll()
}
