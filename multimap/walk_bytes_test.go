package multimap

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// mostWeighed is how large an answer may be: a page, and what may come beyond it, as a
// large value comes whole.
const mostWeighed = 2 << 20

// TestAnAnswerOfAWalkIsBoundedByBytes: a thousand values of these are 50 MB.
func TestAnAnswerOfAWalkIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		for kind, of := range kinds {
			t.Run(version+"/"+kind, func(t *testing.T) {
				t.Parallel()
				raw := redistest.Shared(t, redistest.Version(version)).Client(t)
				name := redistest.Name(t)
				in, want := of(engineOn(t, raw), name), map[string]string{}
				for i := range redistest.Count(t, 60, 1000) {
					for _, size := range []int{100, 50_000} { // what comes first is likely to be short
						key := strconv.Itoa(size) + "-" + strconv.Itoa(i)
						want[key] = key + strings.Repeat("x", size-len(key))
						_, err := in.put(t.Context(), key, want[key])
						require.NoError(t, err)
					}
				}
				c := &redistest.Weighed{Client: raw}
				m := of(engineOn(t, c), name)
				got := map[string]string{}
				for e, err := range m.All(t.Context()) {
					require.NoError(t, err)
					got[e.Key] = e.Value
				}
				require.Equal(t, want, got)
				require.Less(t, c.Most.Swap(0), int64(mostWeighed))
				keys := map[string]string{}
				for k, err := range m.Keys(t.Context()) {
					require.NoError(t, err)
					keys[k] = want[k]
				}
				require.Equal(t, want, keys)
				require.Less(t, c.Most.Swap(0), int64(100<<10), "no values come")
			})
		}
	}
}

// TestAKeyOfManyValuesIsWalkedInPieces also while values are taken from its front.
func TestAKeyOfManyValuesIsWalkedInPieces(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"list", "set"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t, redistest.Version("7.0")).Client(t)
			c := &redistest.Weighed{Client: raw}
			name := redistest.Name(t)
			g := multiOn(t, kind, engineOn(t, c), name)
			want := map[string]bool{}
			for i := range 3 {
				var values []string
				for j := range 1500 {
					v := strconv.Itoa(i) + "-" + strconv.Itoa(j) + strings.Repeat("x", 2000)
					want[v], values = true, append(values, v)
				}
				_, err := g.put(t.Context(), strconv.Itoa(i), values...)
				require.NoError(t, err)
			}
			c.Most.Store(0)
			got := map[string]int{}
			taken, last := map[string]bool{}, ""
			for e, err := range g.All(t.Context()) {
				require.NoError(t, err)
				require.Equal(t, e.Key, e.Value[:1])
				got[e.Value]++
				last = e.Value
				if kind == "list" && len(got)%100 == 0 && len(taken) < 20 {
					key := g.names.of(last[:1])[2]
					v, err := raw.Do(t.Context(), raw.B().Lpop().Key(key).Build()).ToString()
					require.NoError(t, err)
					taken[v] = true
					require.NoError(t, raw.Do(t.Context(), raw.B().Rpush().Key(key).Element(last[:1]+"-new"+strconv.Itoa(len(taken))).Build()).Error())
				}
			}
			for v := range want {
				require.True(t, got[v] > 0 || taken[v], "%s does not come", v[:8])
			}
			require.Less(t, c.Most.Load(), int64(mostWeighed))
		})
	}
}
