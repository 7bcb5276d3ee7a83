package engine

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestAnAcknowledgementThatGetsNoConnectionSaysSo(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client(t, func(o *rueidis.ClientOption) { o.BlockingPoolSize = 1 })
	_, giveBack := client.Dedicate()
	defer giveBack()
	e := onReal(t, client)
	e.WatchdogTimeout, e.ReplicaAcks, e.AckTimeout = time.Second, 1, 300*time.Millisecond
	_, _, err := e.RunAcked(t.Context(), LockRenewal.Script, []string{redistest.Name(t)}, []string{"owner", "1000"})
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "BlockingPoolSize")
}
