package send

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slot moves for as long as it takes. Who meets the server's silence right after
// that has a whole watchdog timeout for it.
func TestAnOutageBeginsWhenTheSlotHasMoved(t *testing.T) {
	t.Parallel()
	var o Outage
	const stale = 10 * time.Second
	for at := range 10 {
		require.Zero(t, o.lasts(time.Duration(at)*time.Second, true, stale))
	}
	require.Equal(t, time.Second, o.lasts(10*time.Second, false, stale))
	require.Equal(t, 3*time.Second, o.lasts(12*time.Second, false, stale))
	require.Zero(t, o.lasts(time.Minute, false, stale), "of the time between nobody knows")
}
