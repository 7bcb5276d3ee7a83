package wait

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
)

// ofMode is a client that says what it is connected to.
type ofMode struct {
	rueidis.Client
	mode rueidis.ClientMode
}

func (c ofMode) Mode() rueidis.ClientMode { return c.mode }

func TestOnlyPlainChannelsOfAClusterHideListeners(t *testing.T) {
	for _, c := range []struct {
		mode    rueidis.ClientMode
		sharded bool
		counts  bool
	}{
		{rueidis.ClientModeStandalone, false, true},
		{rueidis.ClientModeCluster, true, true},
		{rueidis.ClientModeCluster, false, false},
	} {
		on := core.New(ofMode{mode: c.mode}, core.Config{})
		if c.sharded {
			core.PublishSharded(on)
		}
		w := &Waits{Keeper: &lease.Keeper{Sender: &send.Sender{Core: on}}}
		require.Equal(t, c.counts, w.CountsAll(), c)
	}
}
