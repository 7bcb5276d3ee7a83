package mapcache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/sweep"
)

// TestWhoWasDeniedTheLatchComesWhenItEnds: Redisson comes again some milliseconds later,
// takes it for five seconds, and drops a hundred entries. Whoever has it drops what is
// due first, whoever wrote that.
func TestWhoWasDeniedTheLatchComesWhenItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := sweeperOn(r.e, nil)
	v := s.target(nil, &r.n).(*visited)
	for range 50 {
		r.do("SET", r.n.latch, "1", "PX", "5000") // Redisson's
		next := v.Visit().Wait
		left := time.Duration(r.count("PTTL", r.n.latch)) * time.Millisecond
		require.Less(t, next, 5*time.Second+sweep.Lateness)
		require.Greater(t, next+time.Millisecond, left)
	}
}

// TestWhatIsDueFirstGoesFirst, whoever wrote it: who always has something to sweep keeps
// nothing of others waiting.
func TestWhatIsDueFirstGoesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, name := range []string{"go1", "java1", "go2", "java2", "go3", "java3"} {
		r.put(name, "v", Life{TTL: time.Duration(i+1) * time.Second})
	}
	r.clock.forward(time.Minute)
	r.sweepOnce("me") // a batch of three
	require.Equal(t, []string{"go3", "java2", "java3"}, r.fields())
	r.put("go4", "v", Life{TTL: time.Millisecond})
	r.clock.forward(time.Second)
	r.sweepOnce("me")
	require.Equal(t, []string{"go4"}, r.fields())
}
