package sortedset

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// model is a set as a plain Go program has it.
type model map[string]float64

// sorted returns the members in their order.
func (m model) sorted() []Entry[string] {
	all := make([]Entry[string], 0, len(m))
	for v, score := range m {
		all = append(all, Entry[string]{v, score})
	}
	slices.SortFunc(all, func(a, b Entry[string]) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), strings.Compare(a.Value, b.Value))
	})
	return all
}

// drop removes members, and returns how many there were.
func (m model) drop(some []Entry[string]) int64 {
	for _, e := range some {
		delete(m, e.Value)
	}
	return int64(len(some))
}

// TestAModel does random operations of several goroutines on sets of their own, and on one that they share, and compares
// each answer with that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, againstTheModel)
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	e := enginetest.On(t, raw)
	shared := kitOn(e, fresh(t, raw)).s
	steps := redistest.Count(t, 150, 20_000)
	parts := make([]model, 4)
	var all sync.WaitGroup
	for i := range parts {
		own := kitOn(e, fresh(t, raw)).s
		parts[i] = model{}
		all.Go(func() {
			m := model{}
			for range steps {
				if !step(t, own, m) || !stepTogether(t, shared, strconv.Itoa(i)+"-", parts[i]) {
					return
				}
			}
			got, err := collect(own.All(t.Context()))
			assert.NoError(t, err)
			assert.Equal(t, show(m.sorted()), got)
		})
	}
	all.Wait()
	whole := model{}
	for _, part := range parts {
		for v, score := range part {
			whole[v] = score
		}
	}
	got, err := collect(shared.All(t.Context()))
	require.NoError(t, err)
	require.Equal(t, show(whole.sorted()), got)
}

func show(all []Entry[string]) string {
	text, _ := collect(func(yield func(Entry[string], error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
	return text
}

// step does an operation on a set that nobody else uses.
func step(t *testing.T, s *Set[string], m model) bool {
	all := m.sorted()
	i, n := rand.IntN(len(all)+2), rand.IntN(5)
	window := all[min(i, len(all)):min(i+n, len(all))]
	low, high := float64(rand.IntN(8)), float64(rand.IntN(8))
	var within []Entry[string]
	for _, e := range all {
		if e.Score >= low && e.Score < high {
			within = append(within, e)
		}
	}
	in := Interval{Min: low, Max: high, Below: true}
	switch rand.IntN(9) {
	case 0:
		got, err := collect(s.Range(t.Context(), int64(i), int64(i+n-1)))
		return assert.NoError(t, err) && (i+n == 0 || assert.Equal(t, show(window), got))
	case 1:
		got, err := collect(s.ByScore(t.Context(), in))
		return assert.NoError(t, err) && assert.Equal(t, show(within), got)
	case 2:
		got, err := s.PopMin(t.Context(), n)
		want := all[:min(n, len(all))]
		m.drop(want)
		return assert.NoError(t, err) && assert.Equal(t, show(want), show(got))
	case 3:
		got, err := s.PopMax(t.Context(), n)
		want := slices.Clone(all[max(0, len(all)-n):])
		m.drop(want)
		slices.Reverse(want)
		return assert.NoError(t, err) && assert.Equal(t, show(want), show(got))
	case 4:
		if i+n == 0 {
			return true // from 0 through -1 is all
		}
		got, err := s.RemoveByRank(t.Context(), int64(i), int64(i+n-1))
		return assert.NoError(t, err) && assert.Equal(t, m.drop(window), got)
	case 5:
		got, err := s.RemoveByScore(t.Context(), in)
		return assert.NoError(t, err) && assert.Equal(t, m.drop(within), got)
	case 6:
		if len(all) == 0 {
			return true
		}
		rank, there, err := s.Rank(t.Context(), all[i%len(all)].Value)
		return assert.NoError(t, err) && assert.True(t, there) && assert.EqualValues(t, i%len(all), rank)
	}
	return stepTogether(t, s, "", m)
}

// stepTogether does an operation on members that begin with a prefix, which nobody else has.
func stepTogether(t *testing.T, s *Set[string], prefix string, m model) bool {
	v, score := prefix+strconv.Itoa(rand.IntN(20)), float64(rand.IntN(8))
	had, there := m[v]
	switch rand.IntN(8) {
	case 0:
		got, err := s.AddIfAbsent(t.Context(), score, v)
		if !there {
			m[v] = score
		}
		return assert.NoError(t, err) && assert.Equal(t, !there, got)
	case 1:
		got, err := s.AddIfExists(t.Context(), score, v)
		if there {
			m[v] = score
		}
		return assert.NoError(t, err) && assert.Equal(t, there && had != score, got)
	case 2:
		got, err := s.AddIfGreater(t.Context(), score, v)
		more := !there || score > had
		if more {
			m[v] = score
		}
		return assert.NoError(t, err) && assert.Equal(t, more, got)
	case 3:
		got, err := s.AddIfLess(t.Context(), score, v)
		less := !there || score < had
		if less {
			m[v] = score
		}
		return assert.NoError(t, err) && assert.Equal(t, less, got)
	case 4:
		got, err := s.AddScore(t.Context(), score, v)
		m[v] = had + score
		return assert.NoError(t, err) && assert.Equal(t, m[v], got)
	case 5:
		got, err := s.Remove(t.Context(), v)
		delete(m, v)
		return assert.NoError(t, err) && assert.Equal(t, there, got == 1)
	case 6:
		got, is, err := s.Score(t.Context(), v)
		return assert.NoError(t, err) && assert.Equal(t, there, is) && assert.Equal(t, had, got)
	default:
		got, err := s.Add(t.Context(), score, v)
		m[v] = score
		return assert.NoError(t, err) && assert.Equal(t, !there, got)
	}
}
