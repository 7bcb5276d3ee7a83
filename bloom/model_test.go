package bloom

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// model is a filter as a bitmap of the test.
type model struct {
	of   shape
	bits []byte
}

func newModel(s Shape) *model { return &model{s.shape(), make([]byte, (s.Bits+7)/8)} }

// add sets the bits of a value, and reports whether one was not set.
func (m *model) add(v string) (fresh bool) {
	m.of.walk(hashOf(v), func(bit uint64) {
		mask := byte(0x80) >> (bit % 8)
		fresh = fresh || m.bits[bit/8]&mask == 0
		m.bits[bit/8] |= mask
	})
	return fresh
}

func (m *model) has(v string) bool {
	all := true
	m.of.walk(hashOf(v), func(bit uint64) { all = all && m.bits[bit/8]&(0x80>>(bit%8)) != 0 })
	return all
}

// TestFilterFollowsTheModel: one goroutine, every answer, bit by bit.
func TestFilterFollowsTheModel(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx, name := engineOn(t, raw), t.Context(), named(t, raw)
		steps := redistest.Count(t, 150, 3000)
		if strings.Contains(t.Name(), "miniredis") {
			steps /= 3
		}
		rnd := rand.New(rand.NewPCG(1, uint64(steps)))
		some := func() []string {
			vs := make([]string, 1+rnd.IntN(40))
			for i := range vs {
				vs[i] = fmt.Sprint(rnd.IntN(3000))
			}
			return vs
		}
		var m *model
		f := New[string](e, name)
		for range steps {
			if rnd.IntN(10) == 0 {
				f = New[string](e, name) // another handle
			}
			switch what := rnd.IntN(12); {
			case m == nil || what == 0 && rnd.IntN(3) == 0:
				_, err := f.Delete(ctx)
				require.NoError(t, err)
				is(t, true)(New[string](e, name).Init(ctx, int64(1+rnd.IntN(2000)), []float64{0.5, 0.1, 0.001, 1e-9}[rnd.IntN(4)]))
				s, err := f.Shape(ctx)
				require.NoError(t, err)
				m = newModel(s)
			case what < 4:
				vs := some()
				require.NoError(t, f.Add(ctx, vs...))
				for _, v := range vs {
					m.add(v)
				}
			case what < 7:
				vs := some()
				fresh, err := f.AddNew(ctx, vs...)
				require.NoError(t, err)
				want := 0
				for i, v := range vs {
					if m.add(v) {
						want++
					} else if m.of.k*len(vs) <= mostBits { // one exchange, in order
						require.False(t, fresh[i])
					}
				}
				got := 0
				for _, is := range fresh {
					if is {
						got++
					}
				}
				require.InDelta(t, want, got, 1, "values of several exchanges are in any order")
			case what < 9:
				v := some()[0]
				is(t, m.has(v))(f.Has(ctx, v))
			case what < 11:
				vs := some()
				want := make([]bool, len(vs))
				for i, v := range vs {
					want[i] = m.has(v)
				}
				is(t, want)(f.HasEach(ctx, vs...))
			default:
				set := number(t, raw, "BITCOUNT", name)
				is(t, estimate(m.of, set))(f.Count(ctx))
			}
		}
		got, err := raw.Do(ctx, raw.B().Get().Key(name).Build()).AsBytes()
		require.NoError(t, err)
		require.Equal(t, m.bits, got)
	})
}

// TestGoroutinesShareAFilter: each finds what it has added, and in the end all bits are there, and no other.
func TestGoroutinesShareAFilter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx, name := engineOn(t, raw), t.Context(), named(t, raw)
		f := New[string](e, name)
		is(t, true)(f.Init(ctx, 5000, 0.001))
		s, err := f.Shape(ctx)
		require.NoError(t, err)
		m := newModel(s)
		const goroutines, each = 16, 30
		var all sync.WaitGroup
		for g := range goroutines {
			for i := range each {
				m.add(fmt.Sprint(g, " ", i))
			}
			all.Go(func() {
				for i := range each {
					v := fmt.Sprint(g, " ", i)
					if i%2 == 0 {
						assert.NoError(t, f.Add(ctx, v))
					} else {
						_, err := f.AddNew(ctx, v)
						assert.NoError(t, err)
					}
					has, err := f.Has(ctx, v)
					assert.True(t, has && err == nil, "%v", err)
				}
			})
		}
		all.Wait()
		got, err := raw.Do(ctx, raw.B().Get().Key(name).Build()).AsBytes()
		require.NoError(t, err)
		require.Equal(t, m.bits, got)
	})
}

// TestNothingIsForgottenUnderFaults: what Add has added is found after cut connections, lost requests and replies, and a server that
// stands still; and AddNew says of no value that only this test adds, and once, that it was there.
func TestNothingIsForgottenUnderFaults(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	e := engineOn(t, client, enginetest.ShortSends)
	raw := server.Client(t)
	f := New[string](e, "faulty")
	is(t, true)(f.Init(t.Context(), 100_000, 1e-9)) // no value seems to be there by chance
	ctx, stop := context.WithCancel(t.Context())
	var nemesis, adding sync.WaitGroup
	nemesis.Go(func() { // until the adds have ended
		for i := 0; ctx.Err() == nil; i++ {
			switch i % 3 {
			case 0:
				proxy.CutAll()
			case 1:
				proxy.DropReply(redistest.AnyScript(), 2)
			default:
				server.Pause()
				server.Resume()
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	var mu sync.Mutex
	var added []string
	unknown := 0
	for g := range 8 {
		adding.Go(func() {
			for i := range redistest.Count(t, 60, 2000) {
				vs := values(fmt.Sprint(g, " ", i, " "), 40)
				var err error
				if i%2 == 0 {
					err = f.Add(context.Background(), vs...)
				} else {
					var fresh []bool
					fresh, err = f.AddNew(context.Background(), vs...)
					assert.NotContains(t, fresh, false)
				}
				mu.Lock()
				if err == nil || errors.Is(err, errDoubtful) {
					added = append(added, vs...)
				} else {
					assert.True(t, errors.Is(err, ErrOutcomeUnknown) || strings.Contains(err.Error(), "closed"), "%v", err)
				}
				if err != nil {
					unknown++
				}
				mu.Unlock()
			}
		})
	}
	adding.Wait()
	stop()
	nemesis.Wait()
	has, err := New[string](engineOn(t, raw), "faulty").HasEach(t.Context(), added...)
	require.NoError(t, err)
	require.NotContains(t, has, false)
	t.Logf("%d values added, %d outcomes unknown", len(added), unknown)
}
