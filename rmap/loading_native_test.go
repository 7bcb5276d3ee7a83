package rmap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// passing is a time to live that is over before a load is.
const passing = time.Millisecond

// briefWrites is every operation by which {k: 8} comes, to go by itself. Timed is a handle
// with a time to live.
var briefWrites = map[string]func(ctx context.Context, m, timed *TTLMap[string, int]) error{
	"put": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		return m.Put(ctx, "k", 8, WithTTL(passing))
	},
	"put many": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		return m.PutMany(ctx, map[string]int{"j": 1, "k": 8, "l": 3}, WithTTL(passing))
	},
	"swap": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		_, _, err := m.Swap(ctx, "k", 8, WithTTL(passing))
		return err
	},
	"put if absent": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "k", 8, WithTTL(passing))
		return err
	},
	"put, replace": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 8)
		_, err2 := m.Replace(ctx, "k", 8, WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, compare and swap": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 6)
		_, err2 := m.CompareAndSwap(ctx, "k", 6, 8, WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, touch": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		err := m.Put(ctx, "k", 8)
		_, err2 := m.Touch(ctx, "k", WithTTL(passing))
		return errors.Join(err, err2)
	},
	"put, expire entries": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		err := m.PutMany(ctx, map[string]int{"j": 1, "k": 8, "l": 3})
		_, err2 := m.ExpireEntries(ctx, []string{"j", "k", "l", "none"}, passing)
		return errors.Join(err, err2)
	},
	"compute": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		_, _, err := timed.Compute(ctx, "k", func(int, bool) (int, Verdict, error) { return 8, Store, nil })
		return err
	},
	"add": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		_, err := Add(ctx, timed, "k", 8)
		return err
	},
	"written behind": func(ctx context.Context, m, timed *TTLMap[string, int]) error {
		w := NewWriting(m, newBehindMap().write, ways["behind"]...)
		return errors.Join(w.Put(ctx, "k", 8, WithTTL(passing)), w.Close(ctx))
	},
}

// TestALoadIsOlderThanWhatHasGoneMeanwhile, by its time to live.
func TestALoadIsOlderThanWhatHasGoneMeanwhile(t *testing.T) {
	t.Parallel()
	for what, write := range briefWrites {
		for with, opts := range map[string][]TTLMapOption{"": nil, ", with ids": {WithRequestIDs()}, ", announced": {WithAnnounce()}} {
			if what == "written behind" && with == ", announced" {
				continue
			}
			t.Run(what+with, func(t *testing.T) {
				t.Parallel()
				opts = append(opts, WithCodec(codec.Text))
				m, raw := newNative(t, opts...)
				timed := NewTTLMap[string, int](m.m.h.e, m.Name(), append(opts, WithTTL(passing))...)
				s := newSource()
				l := NewLoading(m, s.load)
				got := make(chan int, 1)
				go func() { // ends with the load
					v, _, err := l.Get(context.Background(), "k")
					assert.NoError(t, err)
					got <- v
				}()
				<-s.began
				s.v.Store(8)
				require.NoError(t, write(t.Context(), m, timed))
				redistest.Eventually(t, func() bool {
					there, err := m.Has(t.Context(), "k")
					return err == nil && !there
				}, soon, time.Millisecond)
				close(s.open)
				require.Equal(t, 8, <-got)
				v, there, err := m.Get(t.Context(), "k")
				require.NoError(t, err)
				require.True(t, there)
				require.Equal(t, 8, v)
				nothingIsLeft(t, raw, m.Name())
			})
		}
	}
}

// TestExpireEntriesLeavesALoadOfWhatIsNotThere: it has changed nothing of that.
func TestExpireEntriesLeavesALoadOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for with, opts := range map[string][]TTLMapOption{"plain": nil, "with ids": {WithRequestIDs()}, "announced": {WithAnnounce()}} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			m, _ := newNative(t, append(opts, WithCodec(codec.Text))...)
			r := NewLoading(m, newSource().load).newRun("k", "k")
			got, err := r.look(t.Context(), ifAbsent)
			require.NoError(t, err)
			require.True(t, got.granted())
			require.NoError(t, m.Put(t.Context(), "j", 1))
			n, err := m.ExpireEntries(t.Context(), []string{"j", "k"}, time.Hour)
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			did, err := r.bring(t.Context(), value{text: "7", there: true})
			require.NoError(t, err)
			require.True(t, did)
		})
	}
}

// TestAWriteThroughThatHasGoneIsNotOverwritten by a load, which waits for the lock that
// the write has: only a load that began in another way is beside it.
func TestAWriteThroughThatHasGoneIsNotOverwritten(t *testing.T) {
	t.Parallel()
	m, _ := newNative(t)
	l := NewLoading(m, newSource().load)
	r := l.newRun("k", "k")
	got, err := r.look(t.Context(), ifAbsent)
	require.NoError(t, err)
	require.True(t, got.granted())
	w := NewWriting(m, newBehindMap().write)
	require.NoError(t, w.Put(t.Context(), "k", 8, WithTTL(passing)))
	redistest.Eventually(t, func() bool {
		there, err := m.Has(t.Context(), "k")
		return err == nil && !there
	}, soon, time.Millisecond)
	did, err := r.bring(t.Context(), value{text: "7", there: true})
	require.NoError(t, err)
	require.False(t, did)
}
