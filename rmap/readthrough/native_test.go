package readthrough

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// passing is a time to live that is over before a load is.
const passing = time.Millisecond

// nativeOn is a map of this test on a server with times to live of entries.
func nativeOn(t *testing.T, opts ...rmap.TTLMapOption) (*rmap.TTLMap[string, int], *locking.Engine, rueidis.Client) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	e := maptest.EngineOn(t, raw)
	return rmap.NewTTLMap[string, int](e, maptest.Named(t, raw), opts...), e, raw
}

// stored is a store that takes all and keeps nothing.
func stored(context.Context, []writethrough.Change[string, int]) error { return nil }

// briefWrites is every operation by which {k: 8} comes, to go by itself. Timed is a handle
// with a time to live.
var briefWrites = map[string]func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error{
	"put": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		return m.Put(ctx, "k", 8, rmap.WithTTL(passing))
	},
	"put many": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		return m.PutMany(ctx, map[string]int{"j": 1, "k": 8, "l": 3}, rmap.WithTTL(passing))
	},
	"swap": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		_, _, err := m.Swap(ctx, "k", 8, rmap.WithTTL(passing))
		return err
	},
	"put if absent": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "k", 8, rmap.WithTTL(passing))
		return err
	},
	"put, replace": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 8)
		_, err2 := m.Replace(ctx, "k", 8, rmap.WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, compare and swap": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 6)
		_, err2 := m.CompareAndSwap(ctx, "k", 6, 8, rmap.WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, touch": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 8)
		_, err2 := m.Touch(ctx, "k", rmap.WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, expire entries": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		err := m.PutMany(ctx, map[string]int{"j": 1, "k": 8, "l": 3})
		_, err2 := m.ExpireEntries(ctx, []string{"j", "k", "l", "none"}, passing)
		return errors.Join(err, err2)
	},
	"compute": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		_, _, err := timed.Compute(ctx, "k", func(int, bool) (int, rmap.Verdict, error) { return 8, rmap.Store, nil })
		return err
	},
	"add": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		_, err := rmap.Add(ctx, timed, "k", 8)
		return err
	},
	"written behind": func(ctx context.Context, m, timed *rmap.TTLMap[string, int]) error {
		w := writethrough.New(m, stored, writethrough.WithBehind(10), writethrough.WithWriteDelay(5*time.Millisecond))
		return errors.Join(w.Put(ctx, "k", 8, rmap.WithTTL(passing)), w.Close(ctx))
	},
}

// TestALoadIsOlderThanWhatHasGoneMeanwhile, by its time to live.
func TestALoadIsOlderThanWhatHasGoneMeanwhile(t *testing.T) {
	t.Parallel()
	for what, write := range briefWrites {
		for with, opts := range map[string][]rmap.TTLMapOption{"": nil, ", with ids": {rmap.WithRequestIDs()}, ", announced": {rmap.WithAnnounce()}} {
			if what == "written behind" && with == ", announced" {
				continue
			}
			t.Run(what+with, func(t *testing.T) {
				t.Parallel()
				opts = append(opts, rmap.WithCodec(codec.Text))
				m, e, raw := nativeOn(t, opts...)
				timed := rmap.NewTTLMap[string, int](e, m.Name(), append(opts, rmap.WithTTL(passing))...)
				s := maptest.NewSource()
				l := New(m, s.Load)
				got := make(chan int, 1)
				go func() { // ends with the load
					v, _, err := l.Get(context.Background(), "k")
					assert.NoError(t, err)
					got <- v
				}()
				<-s.Began
				s.V.Store(8)
				require.NoError(t, write(t.Context(), m, timed))
				redistest.Eventually(t, func() bool {
					there, err := m.Has(t.Context(), "k")
					return err == nil && !there
				}, maptest.Soon, time.Millisecond)
				close(s.Open)
				require.Equal(t, 8, <-got)
				v, there, err := m.Get(t.Context(), "k")
				require.NoError(t, err)
				require.True(t, there)
				require.Equal(t, 8, v)
				maptest.NothingIsLeft(t, raw, m.Name())
			})
		}
	}
}

// TestExpireEntriesLeavesALoadOfWhatIsNotThere: it has changed nothing of that.
func TestExpireEntriesLeavesALoadOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for with, opts := range map[string][]rmap.TTLMapOption{"plain": nil, "with ids": {rmap.WithRequestIDs()}, "announced": {rmap.WithAnnounce()}} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			m, _, _ := nativeOn(t, append(opts, rmap.WithCodec(codec.Text))...)
			r := New(m, maptest.NewSource().Load).newRun("k", "k")
			got, err := r.look(t.Context(), mapstore.IfAbsent)
			require.NoError(t, err)
			require.True(t, got.Granted())
			require.NoError(t, m.Put(t.Context(), "j", 1))
			n, err := m.ExpireEntries(t.Context(), []string{"j", "k"}, time.Hour)
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			did, err := r.bring(t.Context(), mapstore.Value{Text: "7", There: true})
			require.NoError(t, err)
			require.True(t, did)
		})
	}
}

// TestAWriteThroughThatHasGoneIsNotOverwritten by a load, which waits for the lock that
// the write has: only a load that began in another way is beside it.
func TestAWriteThroughThatHasGoneIsNotOverwritten(t *testing.T) {
	t.Parallel()
	m, _, _ := nativeOn(t)
	l := New(m, maptest.NewSource().Load)
	r := l.newRun("k", "k")
	got, err := r.look(t.Context(), mapstore.IfAbsent)
	require.NoError(t, err)
	require.True(t, got.Granted())
	w := writethrough.New(m, stored)
	require.NoError(t, w.Put(t.Context(), "k", 8, rmap.WithTTL(passing)))
	redistest.Eventually(t, func() bool {
		there, err := m.Has(t.Context(), "k")
		return err == nil && !there
	}, maptest.Soon, time.Millisecond)
	did, err := r.bring(t.Context(), mapstore.Value{Text: "7", There: true})
	require.NoError(t, err)
	require.False(t, did)
}
