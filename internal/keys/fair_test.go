package keys

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFairLocksKeysAreSpelledAsRedissonSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{FairQueue("orders"), "redisson_lock_queue:{orders}"},
		{FairDeadlines("orders"), "redisson_lock_timeout:{orders}"},
		{FairDeadlines("a{b}c"), "redisson_lock_timeout:a{b}c"},
		{FairTold("orders", anOwner), "redisson_lock__channel:{orders}:" + anOwner},
		{LockToken("{u1}:orders"), "redisson_lock_token:{u1}:orders"},
		{FairTurns("orders"), "rueidisson_fair:{orders}"},
		{FairAlive("orders"), "rueidisson_fair_alive:{orders}"},
		{FairIdle("orders"), "rueidisson_fair_idle:{orders}"},
	} {
		assert.Equal(t, c.want, c.got)
	}
	for _, key := range []string{FairQueue("x"), FairDeadlines("x"), FairTurns("x"), FairAlive("x"), FairIdle("x"), LockToken("x")} {
		assert.Equal(t, slot("x"), slot(key), key)
	}
}
