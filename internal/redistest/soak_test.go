package redistest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noted is a test that remembers what was said of it, and that it failed.
type noted struct {
	testing.TB
	attributes []string
	failed     bool
}

func (n *noted) Helper()                { n.TB.Helper() }
func (n *noted) Attr(key, value string) { n.attributes = append(n.attributes, key+": "+value) }
func (n *noted) Fatalf(string, ...any)  { n.failed = true }

func TestCountsAreSmallEveryDay(t *testing.T) {
	t.Setenv(soakSwitch, "")
	n := &noted{TB: t}
	require.Equal(t, 20, Count(n, 20, 100_000))
	require.Equal(t, time.Second, Span(n, time.Second, time.Minute))
	require.Empty(t, n.attributes)
	require.False(t, n.failed)
}

func TestCountsAreFullInASoakWhichSaysSo(t *testing.T) {
	t.Setenv(soakSwitch, "1")
	n := &noted{TB: t}
	require.Equal(t, 100_000, Count(n, 20, 100_000))
	require.Equal(t, time.Minute, Span(n, time.Second, time.Minute))
	require.Equal(t, []string{"soak: 100000 instead of 20", "soak: 1m0s instead of 1s"}, n.attributes)
	require.False(t, n.failed)
}

func TestASoakThatIsLessThanAnEverydayRun(t *testing.T) {
	for _, counts := range [][2]int{{20, 10}, {0, 10}} {
		n := &noted{TB: t}
		Count(n, counts[0], counts[1])
		require.True(t, n.failed, counts)
	}
}
