package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// past is a sale that is over: two processes that served a buyer each, of two.
func past(strategy strategy) *sale {
	s := &sale{settings: settings{stock: 2, buyers: 2, procs: 2, strategy: strategy}, venue: &venue{name: "a"}, tally: newTally(2)}
	s.tally.open()
	for n := range 2 {
		s.tally.served(event{Kind: sold, Process: n, Wait: time.Duration(n+1) * time.Second})
	}
	return s
}

func named(t *testing.T, name string) strategy {
	s, err := strategyNamed(name)
	assert.NoError(t, err)
	return s
}

func TestOverselling(t *testing.T) {
	t.Parallel()
	oversold := books{left: 1, sold: map[int]int{0: 1, 1: 1}}
	for name, code := range map[string]int{"lock": exitWrong, "none": 0} {
		var out, errs bytes.Buffer
		r := past(named(t, name)).result(oversold, 10)
		assert.Equal(t, 1, r.Oversold)
		assert.Equal(t, code, show([]*result{r}, false, &out, &errs), name)
		assert.Contains(t, out.String(), "OVERSOLD: 2 sold and 1 left, of 2")
		assert.Equal(t, code != 0, bytes.Contains(errs.Bytes(), []byte("by the lock")))
	}
}

func TestBooksThatDisagreeWithAProcess(t *testing.T) {
	t.Parallel()
	r := past(named(t, "lock")).result(books{left: 0, sold: map[int]int{0: 2}}, 10)
	assert.Len(t, r.Problems, 2)
}

func TestABuyerWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := past(named(t, "lock"))
	s.buyers = 3
	r := s.result(books{left: 0, sold: map[int]int{0: 1, 1: 1}}, 10)
	assert.Equal(t, []string{"process 0 served 1 of its 2 buyers"}, r.Problems)
}

func TestAKillThatDidNotHappen(t *testing.T) {
	t.Parallel()
	s := past(named(t, "lock"))
	s.kill = true
	r := s.result(books{left: 0, sold: map[int]int{0: 1, 1: 1}}, 10)
	assert.Equal(t, []string{"no process was killed"}, r.Problems)
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var sorted []time.Duration
	for n := range 200 {
		sorted = append(sorted, time.Duration(n+1))
	}
	assert.Equal(t, time.Duration(100), percentile(sorted, 50))
	assert.Equal(t, time.Duration(198), percentile(sorted, 99))
	assert.Equal(t, time.Duration(200), percentile(sorted, 100))
	assert.Equal(t, time.Duration(1), percentile(sorted[:1], 50))
	assert.Zero(t, percentile(nil, 50))
}

func TestHistogramCountsEveryWait(t *testing.T) {
	t.Parallel()
	waits := []time.Duration{0, 0, 30 * time.Second, time.Minute}
	counts := histogram(waits)
	assert.Len(t, counts, buckets)
	assert.Equal(t, 2, counts[0])
	assert.Equal(t, 1, counts[buckets/2-1]+counts[buckets/2])
	assert.Equal(t, 1, counts[buckets-1])
	assert.Equal(t, make([]int, buckets), histogram(nil))
}
