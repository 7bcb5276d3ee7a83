package set

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// modeled is a set of each kind that goroutines share, each with members of its own, and those of one goroutine as plain Go has
// them.
type modeled struct {
	t      *testing.T
	ctx    context.Context
	own    string
	s      *Set[string]
	c      *Cache[string]
	in     map[string]bool
	cached map[string]bool // whether it lives for ever, else for an hour
}

// TestAModel does random operations of several goroutines, which share the exchanges of a client, and compares each answer with
// that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	name, other := fresh(t, raw), fresh(t, raw)
	steps := redistest.Count(t, 150, 20_000)
	var all sync.WaitGroup
	for i := range 4 {
		m := &modeled{t, t.Context(), fmt.Sprint(i, ":"), New[string](e, name), NewCache[string](e, other), map[string]bool{}, map[string]bool{}}
		all.Go(func() {
			for range steps {
				if !m.step() || !m.cacheStep() {
					return
				}
			}
		})
	}
	all.Wait()
}

// some returns some members of the goroutine.
func (m *modeled) some() (vs []string) {
	for range rand.IntN(4) {
		if v := fmt.Sprint(m.own, rand.IntN(8)); !slices.Contains(vs, v) {
			vs = append(vs, v)
		}
	}
	return vs
}

// ours returns those members that are the goroutine's, sorted.
func (m *modeled) ours(vs []string, err error) ([]string, error) {
	vs = slices.DeleteFunc(vs, func(v string) bool { return v[:len(m.own)] != m.own })
	slices.Sort(vs)
	return slices.Compact(vs), err
}

func (m *modeled) step() bool {
	vs := m.some()
	there := 0
	for _, v := range vs {
		if m.in[v] {
			there++
		}
	}
	switch rand.IntN(6) {
	case 0:
		n, err := m.s.Add(m.ctx, vs...)
		for _, v := range vs {
			m.in[v] = true
		}
		return assert.NoError(m.t, err) && assert.EqualValues(m.t, len(vs)-there, n)
	case 1:
		n, err := m.s.Remove(m.ctx, vs...)
		for _, v := range vs {
			delete(m.in, v)
		}
		return assert.NoError(m.t, err) && assert.EqualValues(m.t, there, n)
	case 2:
		did, err := m.s.AddAllIfAbsent(m.ctx, vs...)
		if there == 0 {
			for _, v := range vs {
				m.in[v] = true
			}
		}
		return assert.NoError(m.t, err) && assert.Equal(m.t, there == 0, did)
	case 3:
		has, err := m.s.HasEach(m.ctx, vs...)
		for i, v := range vs {
			if !assert.Equal(m.t, m.in[v], has[i]) {
				return false
			}
		}
		return assert.NoError(m.t, err)
	case 4:
		v := m.own + "1"
		has, err := m.s.Has(m.ctx, v)
		return assert.NoError(m.t, err) && assert.Equal(m.t, m.in[v], has)
	default:
		got, err := m.ours(collected(m.s.All(m.ctx)))
		return assert.NoError(m.t, err) && assert.ElementsMatch(m.t, slices.Collect(maps.Keys(m.in)), got)
	}
}

func (m *modeled) cacheStep() bool {
	v := fmt.Sprint(m.own, rand.IntN(8))
	ever, there := m.cached[v]
	permanent := rand.IntN(2) == 0
	ttl := WithTTL(hour)
	if permanent {
		ttl = WithTTL(0)
	}
	does := func(did bool, err error, want bool) bool {
		if want {
			m.cached[v] = permanent
		}
		return assert.NoError(m.t, err) && assert.Equal(m.t, want, did)
	}
	switch rand.IntN(8) {
	case 0:
		added, err := m.c.Add(m.ctx, v, ttl)
		m.cached[v] = permanent
		return assert.NoError(m.t, err) && assert.Equal(m.t, !there, added)
	case 1:
		did, err := m.c.AddIfAbsent(m.ctx, v, ttl)
		return does(did, err, !there)
	case 2:
		did, err := m.c.AddIfPresent(m.ctx, v, ttl)
		return does(did, err, there)
	case 3:
		permanent = false
		did, err := m.c.AddIfShorter(m.ctx, v, WithTTL(hour/2))
		if there && !ever { // half an hour is less than what is left, unless it is half an hour
			return assert.NoError(m.t, err)
		}
		return does(did, err, there)
	case 4:
		permanent = true
		did, err := m.c.AddIfLonger(m.ctx, v)
		return does(did, err, there && !ever)
	case 5:
		n, err := m.c.Remove(m.ctx, v)
		delete(m.cached, v)
		return assert.NoError(m.t, err) && assert.Equal(m.t, there, n == 1)
	case 6:
		has, err := m.c.Has(m.ctx, v)
		left, failed := m.c.Remaining(m.ctx, v)
		return assert.NoError(m.t, err) && assert.NoError(m.t, failed) && assert.Equal(m.t, there, has) &&
			assert.Equal(m.t, there && ever, left == -1) && assert.Equal(m.t, there, left != 0)
	default:
		got, err := m.ours(collected(m.c.All(m.ctx)))
		return assert.NoError(m.t, err) && assert.ElementsMatch(m.t, slices.Collect(maps.Keys(m.cached)), got)
	}
}
