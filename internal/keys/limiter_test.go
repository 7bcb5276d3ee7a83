package keys

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const aClient = "285475da-9152-4c83-822a-67ee2f116a79"

func TestARateLimitersKeysAreSpelledAsRedissonSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{RateValue("api"), "{api}:value"},
		{RateLog("api"), "{api}:permits"},
		{RateValueOf("api", aClient), "{api}:value:" + aClient},
		{RateLogOf("api", aClient), "{api}:permits:" + aClient},
		{RateValue("{u1}:api"), "{u1}:api:value"},
		{RateLog("a{b}c"), "a{b}c:permits"},
		{RateLogOf("a{b}c", aClient), "a{b}c:permits:" + aClient},
		{RateValue("a}b"), "{a}b}:value"},
		{RateValue("a{b"), "a{b:value"},
	} {
		assert.Equal(t, c.want, c.got)
	}
}

// Where OnCluster takes a name, suffixes keep together as prefixes do.
func TestARateLimitersKeysOnACluster(t *testing.T) {
	t.Parallel()
	for _, n := range names {
		if OnCluster(n.name) != nil {
			continue // refused there
		}
		for _, key := range []string{RateValue(n.name), RateLog(n.name), RateValueOf(n.name, aClient), RateLogOf(n.name, aClient)} {
			assert.Equal(t, slot(n.name), slot(key), key)
		}
	}
}
