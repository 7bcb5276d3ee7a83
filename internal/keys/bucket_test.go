package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABucketsKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxBucketKey+1)
	for _, c := range []struct{ got, want string }{
		{Bucket("api"), "{api}:bucket"},
		{Bucket("{u1}:api"), "{u1}:api:bucket"},
		{BucketOf("api", "user:42"), "api:{user:42}"},
		{BucketOf("api", "100%"), "api:{100%25}"},
		{BucketOf("api", "{"), "api:{%7B}"},
		{BucketOf("api", "}"), "api:{%7D}"},
		{BucketOf("api", "a{b}c%7Bd"), "api:{a%7Bb%7Dc%257Bd}"},
		{BucketOf("api", "\x00\xff :"), "api:{\x00\xff :}"},
		{BucketOf("api", long[1:]), "api:{" + long[1:] + "}"},
	} {
		assert.Equal(t, c.want, c.got)
	}
	assert.Less(t, len(BucketOf("api", long)), maxBucketKey)
	assert.Equal(t, BucketOf("api", long), BucketOf("api", long))
	assert.NotEqual(t, BucketOf("api", long), BucketOf("api", long+"x"))
}

// Whoever knows the hash of a long key cannot spell it as a short one.
func TestNoShortKeyIsSpelledAsALongOnesHash(t *testing.T) {
	t.Parallel()
	escapes := 0
	for i := range 20_000 {
		long := strings.Repeat("x", maxBucketKey) + strconv.Itoa(i)
		sum := sha256.Sum256([]byte(long))
		hash := hex.EncodeToString(sum[:])
		for _, escaped := range []string{"25", "7b", "7d"} {
			if !strings.HasPrefix(hash, escaped) {
				continue
			}
			escapes++
			for length := range maxBucketKey {
				short := map[string]string{"25": "%", "7b": "{", "7d": "}"}[escaped] + hash[2:2+min(length, 62)]
				require.NotEqual(t, BucketOf("api", long), BucketOf("api", short), "%q and %q", long, short)
			}
		}
	}
	require.NotZero(t, escapes)
}

// Every limit of one key lies in the key's own slot, whatever the limits are
// called.
func TestALimitsOfOneKeyShareASlot(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"user:42", "{", "}", "}{", "%", strings.Repeat("}", 65), strings.Repeat("{", 64), "\x00"} {
		state := BucketOf("per second", key)
		assert.Equal(t, slot(state), slot(BucketOf("per-day", key)), "%q", key)
		tag := state[strings.IndexByte(state, '{')+1 : len(state)-1]
		assert.NotEmpty(t, tag)
		assert.Equal(t, slot(tag), slot(state))
	}
}

// The keys' buckets are told apart, are no longer than a bounded length, and
// have one pair of braces.
func FuzzBucketOf(f *testing.F) {
	for _, key := range []string{"", "a", "%", "%25", "{", "%7B", "}", "%7D", "{}", strings.Repeat("%", 64), strings.Repeat("x", 65)} {
		f.Add("api", key, "api", key+"%")
		f.Add("api", key, "api:{x}", "y")
	}
	f.Fuzz(func(t *testing.T, name, key, otherName, otherKey string) {
		state := BucketOf(name, key)
		own := strings.TrimPrefix(state, name)
		require.LessOrEqual(t, len(own), 3*maxBucketKey+3)
		require.Equal(t, 1, strings.Count(own, "{"))
		require.Equal(t, 1, strings.Count(own, "}"))
		if name != otherName || key != otherKey {
			require.NotEqual(t, state, BucketOf(otherName, otherKey))
		}
		require.NotEqual(t, state, Bucket(otherName))
	})
}
