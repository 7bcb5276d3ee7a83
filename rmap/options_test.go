package rmap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// TestOptionsThatAKindCannotTakeDoNotCompile: what a constructor takes is an interface that they do not have.
func TestOptionsThatAKindCannotTakeDoNotCompile(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]struct {
		option            any
		cache, ttl, plain bool
	}{
		"WithCodec":      {WithCodec(codec.Text), true, true, true},
		"WithCodecs":     {WithCodecs(codec.Text, codec.Text), true, true, true},
		"WithKeyCodec":   {WithKeyCodec(codec.Key[string]()), true, true, true},
		"WithRequestIDs": {WithRequestIDs(), true, true, true},
		"WithEntryLock":  {WithEntryLock(), true, true, true},
		"WithAnnounce":   {WithAnnounce(), true, true, true},
		"WithTTL":        {WithTTL(time.Hour), true, true, false},
		"WithKeepTTL":    {WithKeepTTL(), true, true, false},
		"WithMaxIdle":    {WithMaxIdle(time.Hour), true, false, false},
	} {
		_, cache := it.option.(CacheOption)
		_, ttl := it.option.(TTLMapOption)
		_, plain := it.option.(MapOption)
		require.Equal(t, []bool{it.cache, it.ttl, it.plain}, []bool{cache, ttl, plain}, name)
	}
}
