package nearcache

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// slowly is a map whose reads return what the test says, when it says so.
type slowly struct {
	rmap.Mapping[string, []int]
	asked chan chan []int
}

func (m *slowly) Get(context.Context, string) ([]int, bool, error) {
	answer := make(chan []int)
	m.asked <- answer
	v := <-answer
	return v, v != nil, nil
}

func (m *slowly) GetMany(ctx context.Context, ks ...string) (map[string][]int, error) {
	got := make(map[string][]int)
	for _, k := range ks {
		if v, there, _ := m.Get(ctx, k); there {
			got[k] = v
		}
	}
	return got, nil
}

// read is a Get, or a GetMany, that is under way.
type read struct {
	answer chan []int
	got    chan []int
}

func (r read) returns(v []int) []int {
	r.answer <- v
	return <-r.got
}

// TestOverlappingReadsThatDifferAreNotKept: which of them the server answered last is not known, and no message tells, since it
// may be late. A read that begins after both returned answers.
func TestOverlappingReadsThatDifferAreNotKept(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx := t.Context()
		m := &slowly{rmap.New[string, []int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithAnnounce()), make(chan chan []int)}
		require.NoError(t, m.Put(ctx, "other", nil)) // a map that is not there has nothing to tell
		for name, begin := range map[string]func(n *Cache[string, []int]) []int{
			"get": func(n *Cache[string, []int]) []int {
				v, _, err := n.Get(ctx, "k")
				assert.NoError(t, err)
				return v
			},
			"get many": func(n *Cache[string, []int]) []int {
				all, err := n.GetMany(ctx, "k")
				assert.NoError(t, err)
				return all["k"]
			},
		} {
			t.Run(name, func(t *testing.T) {
				n := New[string, []int](m, WithAnnounced(), WithMisses(time.Minute))
				defer n.Close()
				start := func() read {
					r := read{got: make(chan []int, 1)}
					go func() { r.got <- begin(n) }()
					select {
					case r.answer = <-m.asked:
					case v := <-r.got:
						require.FailNow(t, "no read was sent", "a copy counts: %v", v)
					}
					return r
				}
				hit := func(want []int) {
					t.Helper()
					v, _, err := n.Get(ctx, "k")
					require.NoError(t, err)
					require.Equal(t, want, v)
				}
				older, newer, none := []int{1}, []int{2}, []int(nil)

				first, second := start(), start()
				require.Equal(t, newer, second.returns(newer))
				hit(newer)
				require.Equal(t, older, first.returns(older))
				third := start() // no copy counts
				fourth := start()
				require.Equal(t, newer, third.returns(newer))
				hit(newer)
				require.Equal(t, newer, fourth.returns(newer))
				hit(newer) // those that agree are kept

				n.wrote("k")
				first, second = start(), start()
				require.Equal(t, none, second.returns(none))
				hit(none)
				require.Equal(t, older, first.returns(older))
				last := start()
				require.Equal(t, newer, last.returns(newer))
				hit(newer)
				require.Empty(t, n.kept.Load().reads.all)
			})
		}
	})
}
