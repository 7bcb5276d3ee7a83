package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Bucket returns the state of a rate limiter's bucket without a key. The rule is
// the name itself.
func Bucket(name string) string { return Suffix(name, "bucket") }

// maxBucketKey is the longest key that stands in Redis as it is.
const maxBucketKey = 64

var escapeBraces = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// BucketOf returns the state of one key of a rate limiter. The key is the hash tag:
// all limits of one key share a slot, and the keys spread over a cluster.
// Whoever chooses keys chooses neither the slot nor the length: braces are
// escaped, and of a long key its hash stands there.
func BucketOf(name, key string) string {
	if len(key) > maxBucketKey {
		sum := sha256.Sum256([]byte(key))
		key = "%#" + hex.EncodeToString(sum[:16]) // no escape begins like that
	} else if special(key) {
		key = escapeBraces.Replace(key)
	}
	return name + ":{" + key + "}"
}

// special is strings.ContainsAny for three characters, at a third of the time:
// every request comes by here.
func special(key string) bool {
	for i := range len(key) {
		if c := key[i]; c == '{' || c == '}' || c == '%' {
			return true
		}
	}
	return false
}
