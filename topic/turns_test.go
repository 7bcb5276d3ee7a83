package topic

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestReliableNamesOfATopicAreReadSeldom while nothing comes, though there are more of them than
// connections may block.
func TestReliableNamesOfATopicAreReadSeldom(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, raw, twoBlock), "orders", WithMaxLength(100))
	var all []reliably
	for i := range 3 {
		all = append(all, r.durable("name"+strconv.Itoa(i)))
	}
	r.publishes(3, "a")
	for _, s := range all {
		s.hears(t, "a")
	}
	server.ResetStats()
	began := time.Now()
	time.Sleep(2 * time.Second) // there is no event to wait for: nothing must happen
	turns := int64(time.Since(began)/(200*time.Millisecond)) * 2
	require.LessOrEqual(t, server.CommandCalls(t, "xreadgroup"), 2*turns+20)
}
