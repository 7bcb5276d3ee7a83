package send

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestAnAcknowledgementThatGetsNoConnectionSaysSo(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client(t, func(o *rueidis.ClientOption) { o.BlockingPoolSize = 1 })
	_, giveBack := client.Dedicate()
	defer giveBack()
	e := on(t, client)
	e.WatchdogTimeout, e.ReplicaAcks, e.AckTimeout = time.Second, 1, 300*time.Millisecond
	_, _, err := e.RunAcked(t.Context(), VoidScript, []string{redistest.Name(t)}, []string{"1", "1000"})
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	require.ErrorContains(t, err, "BlockingPoolSize")
}
