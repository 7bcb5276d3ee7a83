package keys

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatNearCachesAreToldIsSpelledAsRedissonSpellsIt(t *testing.T) {
	t.Parallel()
	cached, caches := NearDisabled("m")
	for _, c := range []struct{ got, want string }{
		{NearChannel("m"), "{m}:topic"},
		{NearChannel("m:{1}"), "m:{1}:topic"},
		{NearLog("m"), "redisson__cache_updates_log:{m}"},
		{cached, "{m}:disabled-keys"},
		{caches, "{m}:disabled-caches"},
		{NearAck("m", "0f"), "{m}:0f:topic"},
		{NearCleared("m", "0f"), "m:clear:0f"},
	} {
		assert.Equal(t, c.want, c.got)
	}
	hash := Hash("abc")
	assert.Equal(t, "0610392ec6557ad68bcb58c345594726", hex.EncodeToString(hash[:]))
}
