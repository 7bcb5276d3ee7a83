package enginetest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const (
	// mostTime is how long one call may keep the server, and mostAnswer how long an answer may be: a megabyte, and an element.
	mostTime   = 5 * time.Millisecond
	mostAnswer = 1<<20 + 60_000
	// mostRounds is how often a call is judged anew: what else the machine does may make one take longer.
	mostRounds = 8
)

// Bounded sees how long the calls of an engine keep the server, and how long their answers are.
type Bounded struct {
	t       testing.TB
	metered *redistest.Metered
	weighed *redistest.Weighed
}

// BoundedOn returns an engine on a server, and what sees its calls.
func BoundedOn(t testing.TB, server *redistest.Server, opts ...func(*core.Config)) (*locking.Engine, *Bounded) {
	metered := redistest.Meter(t, server)
	weighed := &redistest.Weighed{Client: metered}
	return On(t, weighed, opts...), &Bounded{t, metered, weighed}
}

// Judge fails unless no call of do is longer than the bounds. Fill comes before it, each time.
func (b *Bounded) Judge(what string, fill func(), do func() error) {
	b.t.Helper()
	took, by := time.Duration(math.MaxInt64), ""
	for range mostRounds {
		fill()
		b.weighed.Most.Store(0)
		b.metered.Most()
		require.NoError(b.t, do(), what)
		require.LessOrEqual(b.t, b.weighed.Most.Load(), int64(mostAnswer), what)
		took, by = b.metered.Most()
		require.NotEmpty(b.t, by, "%s: no call was measured", what)
		b.t.Logf("%s: %v, %.80s", what, took, by)
		if took < redistest.Scaled(mostTime) {
			return
		}
	}
	require.Less(b.t, took, redistest.Scaled(mostTime), "%s: %.80s", what, by)
}
