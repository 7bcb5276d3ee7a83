package redistest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestAServersClockIsSet(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server, clock := redistest.StartWithClock(t, redistest.Version(version))
			c := server.Client(t)
			for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
				clock.Set(ahead)
				at, err := c.Do(t.Context(), c.B().Time().Build()).AsStrSlice()
				require.NoError(t, err)
				seconds, err := strconv.ParseInt(at[0], 10, 64)
				require.NoError(t, err)
				assert.InDelta(t, time.Now().Add(ahead).Unix(), seconds, 60)
			}
		})
	}
}
