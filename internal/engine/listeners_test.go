package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyPlainChannelsOfAClusterHideListeners(t *testing.T) {
	for _, c := range []struct {
		cluster bool
		publish string
		counts  bool
	}{
		{false, "publish", true},
		{true, "spublish", true},
		{true, "publish", false},
	} {
		e := &Engine{cluster: c.cluster, publish: c.publish}
		require.Equal(t, c.counts, e.CountsAll(), "cluster %v, %s", c.cluster, c.publish)
	}
}
