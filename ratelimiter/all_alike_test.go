package ratelimiter

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What goes out together is about the same buckets, whatever they are called.
func TestRequestsOfOtherBucketsAreNotAlike(t *testing.T) {
	t.Parallel()
	r := &rule{generation: 1}
	ask := func(states ...string) *allAsk {
		q := &allAsk{states: states}
		for range 2 {
			q.rules, q.n, q.debts = append(q.rules, r), append(q.n, 1), append(q.debts, 0)
		}
		return q
	}
	one, other := ask("a\x00b", "c"), ask("a", "b\x00c")
	assert.True(t, one.alike(ask("a\x00b", "c")))
	assert.False(t, one.alike(other))
	assert.Equal(t, (&Combined{states: one.states}).key(), (&Combined{states: other.states}).key(), "they stand in one line")
}
