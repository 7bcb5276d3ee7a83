package mapcache

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// TestCacheEntriesWithTheNamesOfItsOwnFieldsStay: Redisson counts in a field of the hash,
// and keeps a member in the sorted sets of a whole cache that is to go.
func TestCacheEntriesWithTheNamesOfItsOwnFieldsStay(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.put("temp_val__redisson", "mine", Life{TTL: time.Hour})
		r.put("temp_val__redisson_", "mine, too", Life{})
		_, sum := r.write(Add, "n", "hincrby", "5", string(Pack(nil, "", 0))[:8], "", "", "", "")
		text, err := sum.ToString()
		require.NoError(t, err)
		assert.Equal(t, "5", text)
		assert.Equal(t, "mine", r.get("temp_val__redisson"))
		assert.Equal(t, "mine, too", r.get("temp_val__redisson_"))
		assert.EqualValues(t, 3, r.count("HLEN", r.n.Hash))

		r.bound(10, "LRU")
		r.put("redisson__expiretag", "mine", Life{TTL: time.Hour, Idle: time.Minute})
		before := r.entry("redisson__expiretag")
		r.run(Expire, r.n.All(), "0", "3600000")
		assert.Equal(t, before, r.entry("redisson__expiretag"), "to have the whole cache go leaves its entry")
		r.run(Persist, r.n.All(), "0")
		assert.Equal(t, before, r.entry("redisson__expiretag"), "and so does to have it stay")
		assert.Equal(t, float64(r.e.Wall()), r.score(r.n.Accesses, "redisson__expiretag"))
		r.clock.forward(time.Minute)
		assert.Equal(t, "-", r.get("redisson__expiretag"))

		r.do("DEL", r.n.Times)
		r.do("HDEL", r.n.Hash, "redisson__expiretag")
		r.run(Expire, r.n.All(), "0", "3600000")
		assert.EqualValues(t, 1, r.count("EXISTS", r.n.Times), "the tag of a cache without such an entry")
		r.run(Persist, r.n.All(), "0")
		assert.Zero(t, r.count("EXISTS", r.n.Times))
	})
}

// TestCacheSweepOfAClockThatIsAheadDropsNothing.
func TestCacheSweepOfAClockThatIsAheadDropsNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.clock.forward(time.Since(r.clock.Now())) // the machine's, now
		r.put("k", "v", Life{TTL: time.Second})
		swept := func() []string {
			t.Helper()
			msg := r.run(sweepScript, append(r.n.All(), r.n.latch), "me", r.now(), r.e.Publish(), sweep.Kept, "3", "0", "5000")
			parts, err := msg.ToArray()
			require.NoError(t, err)
			var said []string
			for _, p := range parts[:2] {
				n, err := p.AsInt64()
				require.NoError(t, err)
				said = append(said, time.Duration(n).String())
			}
			return said
		}
		r.clock.forward(time.Hour)
		assert.Equal(t, "-2ns", swept()[0])
		assert.EqualValues(t, 1, r.count("HLEN", r.n.Hash))
		assert.Zero(t, r.count("EXISTS", r.n.latch), "others may sweep")
		r.clock.forward(-time.Hour + 3*time.Second)
		assert.Equal(t, "1ns", swept()[0], "three seconds are a network's, or a clock's that is set once a day")
	})
}
