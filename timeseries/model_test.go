package timeseries

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// modeled is a series that goroutines share, each with times of its own, and the entries of one goroutine as plain Go has them.
type modeled struct {
	t      *testing.T
	ctx    context.Context
	from   int64 // its first time
	s      *Series[string]
	n      int
	shared bool
	there  []Entry[string] // in the order of times, no two of which are the same
	now    func() time.Duration
}

// TestAModel does random operations of several goroutines, and moves the clock, and compares each answer with that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	steps := redistest.Count(t, 150, 20_000)
	e, name := enginetest.On(t, raw), fresh(t, raw)
	var all sync.WaitGroup
	for i := range 3 {
		m := &modeled{t: t, ctx: t.Context(), from: int64(i) * 1000, shared: true, s: kitOn(e, name).s, now: func() time.Duration { return 0 }}
		all.Go(func() { m.run(steps) })
	}
	all.Wait()
	r := rigOn(t, raw) // which has its clock, and its series, for itself, so that it may pop
	began := r.clock.Now()
	m := &modeled{t: t, ctx: t.Context(), s: r.s, now: func() time.Duration { return r.clock.Now().Sub(began) }}
	for range steps / 10 {
		if !m.run(10) {
			return
		}
		r.clock.Pass(time.Duration(rand.IntN(300)) * time.Millisecond)
		if rand.IntN(3) == 0 && !assert.NoError(t, r.visit().Err) {
			return
		}
	}
}

func (m *modeled) run(steps int) bool {
	for range steps {
		m.there = slices.DeleteFunc(m.there, func(e Entry[string]) bool { return m.endOf(e) <= m.now() })
		if !m.step() {
			return false
		}
	}
	return true
}

// endOf returns when an entry ends: its value has it.
func (m *modeled) endOf(e Entry[string]) (at time.Duration) {
	var n int64
	_, _ = fmt.Sscanf(e.Value, "%d/", &n)
	return time.Duration(n)
}

// add adds entries of new times.
func (m *modeled) add() (all []Entry[string], ttl time.Duration) {
	ttl = []time.Duration{0, hour, time.Duration(1+rand.IntN(200)) * time.Millisecond}[rand.IntN(3)]
	if m.shared && ttl > 0 { // its clock does not stand still
		ttl = hour
	}
	end := m.now() + ttl
	if ttl == 0 {
		end = 1 << 62
	}
	for range 1 + rand.IntN(3) {
		when := at(m.from + rand.Int64N(1000))
		same := func(e Entry[string]) bool { return e.Time.Equal(when) }
		if slices.ContainsFunc(m.there, same) || slices.ContainsFunc(all, same) {
			continue
		}
		m.n++
		all = append(all, Entry[string]{when, fmt.Sprint(int64(end), "/", m.n, strings.Repeat("x", rand.IntN(100))), []string{"", "l"}[rand.IntN(2)]})
	}
	return all, ttl
}

// within returns the entries of a range of times.
func (m *modeled) within(from, to int64) (all []Entry[string]) {
	for _, e := range m.there {
		if ms := e.Time.UnixMilli(); ms >= from && ms <= to {
			all = append(all, e)
		}
	}
	return all
}

// without drops entries from the model.
func (m *modeled) without(gone []Entry[string]) {
	m.there = slices.DeleteFunc(m.there, func(e Entry[string]) bool { return slices.Contains(gone, e) })
}

func (m *modeled) step() bool {
	same := func(want, got []Entry[string], err error) bool {
		if len(want) == 0 && len(got) == 0 {
			return assert.NoError(m.t, err)
		}
		return assert.NoError(m.t, err) && assert.Equal(m.t, want, got)
	}
	a, b := m.from+rand.Int64N(1000), m.from+rand.Int64N(1000)
	from, to := min(a, b), max(a, b)
	if len(m.there) > 0 && rand.IntN(2) == 0 {
		a = m.there[rand.IntN(len(m.there))].Time.UnixMilli()
	}
	reversed := func(all []Entry[string]) []Entry[string] { slices.Reverse(all); return all }
	kinds := 7
	if !m.shared {
		kinds = 11
	}
	switch rand.IntN(kinds) {
	case 0, 1:
		all, ttl := m.add()
		n, err := m.s.AddMany(m.ctx, all, WithTTL(ttl))
		m.there = append(m.there, all...)
		slices.SortFunc(m.there, func(a, b Entry[string]) int { return a.Time.Compare(b.Time) })
		return assert.NoError(m.t, err) && assert.EqualValues(m.t, len(all), n)
	case 2:
		e, there, err := m.s.Get(m.ctx, at(a))
		want := m.within(a, a)
		return assert.Equal(m.t, len(want) > 0, there) && (!there || assert.Equal(m.t, want[0], e)) && assert.NoError(m.t, err)
	case 3:
		got, err := collected(m.s.Range(m.ctx, at(from), at(to)))
		return same(m.within(from, to), got, err)
	case 4:
		got, err := collected(m.s.Range(m.ctx, at(from), at(to), WithDescending()))
		return same(reversed(m.within(from, to)), got, err)
	case 5:
		was, err := m.s.Remove(m.ctx, at(a))
		want := m.within(a, a)
		m.without(want)
		return assert.NoError(m.t, err) && assert.Equal(m.t, len(want) > 0, was)
	case 6:
		to = min(to, from+100)
		n, err := m.s.RemoveRange(m.ctx, at(from), at(to))
		want := m.within(from, to)
		m.without(want)
		return assert.NoError(m.t, err) && assert.EqualValues(m.t, len(want), n)
	case 7:
		n := min(rand.IntN(4), len(m.there))
		got, err := m.s.PopFirst(m.ctx, n)
		want := slices.Clone(m.there[:n])
		m.without(want)
		return same(want, got, err)
	case 8:
		n := min(rand.IntN(4), len(m.there))
		got, err := m.s.PopLast(m.ctx, n)
		want := reversed(slices.Clone(m.there[len(m.there)-n:]))
		m.without(want)
		return same(want, got, err)
	case 9:
		n := min(rand.IntN(4), len(m.there))
		got, err := m.s.Last(m.ctx, n)
		return same(reversed(slices.Clone(m.there[len(m.there)-n:])), got, err)
	default:
		n, err := m.s.Len(m.ctx)
		return assert.NoError(m.t, err) && assert.EqualValues(m.t, len(m.there), n)
	}
}
